package statstest

import (
	"maps"
	"slices"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/simulator/tables"
)

// months are the keys' months that can have counters. A week may begin in the month before.
func (a *asking) months() stats.Range {
	return stats.Range{From: a.days.From.Week().Month(), To: stats.Month.End((a.days.To - 1).Month())}
}

// units and metrics are all that a site may be asked for, with the metric of Counts that answers.
var units = map[stats.Metric]map[stats.Unit]string{
	stats.Views:  {stats.Hour: models.HourViews, stats.Day: models.DayViews, stats.Month: models.MonthViews},
	stats.Unique: {stats.Day: models.DayUnique, stats.Week: models.WeekUnique, stats.Month: models.MonthUnique},
}

// site asks for every metric of every combination of values that are listed.
func (a *asking) site() {
	ctx := a.t.Context()
	for month := a.days.From.Month(); month < a.days.To; month = stats.Month.End(month) {
		names, err := a.r.Sites(ctx, month, []models.NameRange{every})
		if sites := all(a, names.Rows, err); !slices.Equal(sites, []string{a.p.Site}) {
			a.t.Errorf("sites of %v: %q", month.Time(), sites)
		}
	}
	combinations := []map[string]string{{}}
	for _, feature := range a.plan.Features() {
		values := a.featureValues(feature)
		for _, c := range slices.Clone(combinations) {
			for _, value := range values {
				longer := maps.Clone(c)
				longer[feature] = value
				combinations = append(combinations, longer)
			}
		}
	}
	for _, features := range combinations {
		for metric, of := range units {
			for unit, name := range of {
				if slices.Contains(a.plan.Metrics(), name) && (metric == stats.Unique || len(features) < 2) {
					a.series(features, metric, unit, name)
				}
			}
		}
	}
	for month := a.days.From.Month(); month < a.days.To; month = stats.Month.End(month) {
		for _, feature := range a.plan.Features() {
			a.top(feature, stats.Period{Unit: stats.Month, Start: month})
			a.top(feature, stats.PeriodOf(stats.Week, month))
			a.top(feature, stats.PeriodOf(stats.Day, month))
		}
	}
}

// aligned is a range of whole units that has all days.
func (a *asking) aligned(unit stats.Unit) stats.Range {
	return stats.Range{From: unit.Start(a.days.From), To: unit.End(unit.Start(a.days.To - 1))}
}

func (a *asking) series(features map[string]string, metric stats.Metric, unit stats.Unit, name string) {
	s, err := a.r.SiteSeries(a.t.Context(), stats.SeriesQuery{Site: a.p.Site, Metric: metric, By: unit, Within: a.aligned(unit), Features: features})
	for _, p := range all(a, s.Points, err) {
		a.put(p.Count, "Counts", a.key(features, p.Start.Month(), name, p.Start)...)
	}
}

// key is the primary key of a row of Counts.
func (a *asking) key(features map[string]string, month models.Millis, metric string, start models.Millis) []any {
	key := []any{a.p.Site, month.Time()}
	for _, feature := range a.plan.Features() {
		key = append(key, features[feature])
	}
	return append(key, metric, start.Time())
}

// top compares rankings with what the series have told.
func (a *asking) top(feature string, period stats.Period) {
	for metric, of := range units {
		name, kept := of[period.Unit]
		if !kept || !slices.Contains(a.plan.Metrics(), name) {
			continue
		}
		top, err := a.r.SiteTop(a.t.Context(), stats.TopQuery{Site: a.p.Site, Feature: feature, Period: period, Metric: metric})
		a.check(err)
		ranked := map[string]int64{}
		for i, row := range top.Rows {
			ranked[row.Label] = row.Count
			if i > 0 && row.Count > top.Rows[i-1].Count {
				a.t.Errorf("%s of %s: %v before %v", feature, period, top.Rows[i-1], row)
			}
		}
		for _, value := range a.featureValues(feature) {
			cell := tables.Name("Counts", a.key(map[string]string{feature: value}, period.Start.Month(), name, period.Start)...)
			if ranked[value] != a.got[cell] {
				a.t.Errorf("top %s of %s by %s: %q has %d, want %d", feature, period, metric, value, ranked[value], a.got[cell])
			}
			delete(ranked, value)
		}
		if len(ranked) > 0 {
			a.t.Errorf("top %s of %s by %s: %v more", feature, period, metric, ranked)
		}
	}
}
