package page

import (
	"footfall/models"
	"footfall/reader/stats"
)

// choices fills in where a site's page leads.
func (v *siteView) choices(s siteAsked, features []string) {
	other := func(label string, p stats.Period) choice {
		return choice{label, s.with("period", p.String(), "from", "", "last", "", "by", ""), s.period != nil && *s.period == p}
	}
	v.Periods = []choice{other("Today", stats.PeriodOf(stats.Day, s.now)), other("This week", stats.PeriodOf(stats.Week, s.now)), other("This month", stats.PeriodOf(stats.Month, s.now))}
	year := lastUnits(stats.Month, 12, s.now)
	from, last := year.within.From.Time().Format(models.Daily), (year.within.To - 1).Time().Format(models.Daily)
	isYear := s.period == nil && s.w.unit == stats.Month && s.w.within == year.within
	v.Periods = append(v.Periods, choice{"12 months", s.with("period", "", "from", from, "last", last, "by", string(stats.Month)), isYear})
	v.Words = s.words()
	if s.period != nil {
		if s.period.Start > 0 {
			v.Previous = other("", stats.PeriodOf(s.period.Unit, s.period.Start-1)).Href
		}
		if s.period.End() <= s.now {
			v.Next = other("", stats.PeriodOf(s.period.Unit, s.period.End())).Href
		}
	} else {
		v.NoBreakdowns = months(s, other)
	}
	for _, metric := range []stats.Metric{stats.Unique, stats.Views} {
		v.Metrics = append(v.Metrics, choice{metricWords[metric], s.with("metric", string(metric)), s.metric == metric})
	}
	keep := []string{"compare", "share", "metric"}
	for _, name := range features {
		keep = append(keep, featureParam(name))
		if value := s.features[name]; value != "" {
			v.Filters = append(v.Filters, filter{name, clip(models.Visible(value)), s.with(featureParam(name), "")})
		}
	}
	v.Custom = custom(s.asked, s.w, s.period == nil && !isYear, keep...)
	v.Compare = compare(s.asked)
	v.Export = s.exports(s.w, s.now)
}

// months are the latest ones of a range, which have rankings.
func months(s siteAsked, other func(string, stats.Period) choice) (out []choice) {
	p := stats.PeriodOf(stats.Month, min(s.w.within.To-1, s.now))
	for range 12 {
		if p.End() <= s.w.within.From {
			break
		}
		out = append(out, other(periodWords(p), p))
		p = stats.PeriodOf(stats.Month, p.Start-1)
	}
	return out
}

// periodWords is a period as people say it.
func periodWords(p stats.Period) string {
	switch p.Unit {
	case stats.Month:
		return p.Start.Time().Format("January 2006")
	case stats.Week:
		return "Week " + p.String()[6:] + ", " + window{unit: stats.Day, within: p.Range()}.words()
	}
	return p.Start.Time().Format("Monday 2 January 2006")
}
