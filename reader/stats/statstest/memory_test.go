package statstest_test

import (
	"reflect"
	"slices"
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

// Without day_views the reader adds up hours: series and rankings by day, week and month are the same.
func TestHoursAddUpToDays(t *testing.T) {
	without := slices.DeleteFunc(models.AllMetrics(), func(metric string) bool { return metric == models.DayViews })
	var answers [2][]any
	for i, metrics := range [][]string{models.AllMetrics(), without} {
		plan, err := models.NewPlan(models.DefaultFeatures(), metrics)
		if err != nil {
			t.Fatal(err)
		}
		m, p := statstest.NewMemory(plan), statstest.Plan(plan)
		events := statstest.Events(p, plan)
		statstest.Fill(t, m, plan, events)
		first := models.Latest
		for _, e := range events {
			if v, visit := e.(*models.Visit); visit {
				first = min(first, v.TS)
			}
		}
		r := stats.New(m, "clicks", "visits")
		for _, unit := range []stats.Unit{stats.Day, stats.Week, stats.Month} {
			within := stats.Range{From: unit.Start(first), To: unit.End(unit.Start(first + 35*24*3_600_000))}
			series, err := r.SiteSeries(t.Context(), stats.SeriesQuery{Site: p.Site, Metric: stats.Views, By: unit, Within: within})
			if err != nil {
				t.Fatal(err)
			}
			points := 0
			for point, err := range series.Points {
				if err != nil {
					t.Fatal(err)
				}
				answers[i] = append(answers[i], point)
				points++
			}
			top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: p.Site, Feature: "feature1", Metric: stats.Views, Period: stats.PeriodOf(unit, first)})
			if err != nil || len(top.Rows) == 0 || points == 0 {
				t.Fatalf("by %s: %d points, ranking %v, %v", unit, points, top.Rows, err)
			}
			answers[i] = append(answers[i], top.Rows)
		}
	}
	if !reflect.DeepEqual(answers[0], answers[1]) {
		t.Errorf("with day_views:\n%v\nwithout:\n%v", answers[0], answers[1])
	}
}
