package statstest_test

import (
	"testing"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

func TestMemory(t *testing.T) {
	statstest.Run(t, func(_ *testing.T, plan *models.Plan) (stats.Store, statstest.Tables) {
		m := statstest.NewMemory(plan)
		return m, m
	})
}

func TestTruth(t *testing.T) {
	for _, c := range []struct{ features, metrics []string }{
		{models.DefaultFeatures(), models.AllMetrics()},
		{[]string{"page", "campaign", "tier"}, models.AllMetrics()},
		{[]string{"page"}, []string{models.WeekUnique, models.DayViews}},
	} {
		plan, err := models.NewPlan(c.features, c.metrics)
		if err != nil {
			t.Fatal(err)
		}
		m := statstest.NewMemory(plan)
		p := statstest.Plan(plan)
		statstest.Fill(t, m, plan, statstest.Events(p, plan))
		statstest.Truth(t, stats.New(m, "clicks", "visits"), p)
	}
}
