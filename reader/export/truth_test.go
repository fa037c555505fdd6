package export_test

import (
	"testing"

	"footfall/models"
	"footfall/reader/export/exporttest"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

func TestExportsAreTheSimulatorsTruth(t *testing.T) {
	other, err := models.NewPlan([]string{"month", "page", "count"}, []string{models.DayUnique, models.WeekUnique, models.HourViews, models.DayViews})
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []*models.Plan{models.DefaultPlan(), other} {
		p := statstest.Plan(plan)
		m := statstest.NewMemory(plan)
		m.Add(statstest.Events(p, plan)...)
		exporttest.Truth(t, stats.New(m, "clicks", "visits"), p)
	}
}
