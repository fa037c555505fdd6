package web

import (
	"cmp"
	"strconv"
	"time"

	"footfall/models"
	"footfall/reader/params"
	"footfall/reader/stats"
)

// query has the parameters of a request.
type query struct{ params.Parsed }

// get is the value of a parameter, or otherwise if it is absent or empty.
func (q query) get(name, otherwise string) string { return cmp.Or(q.Values[name], otherwise) }

// within is the range of from and to; an end that is absent is open.
func (q query) within() (within stats.Range, err error) {
	if within.From, err = q.end("from"); err == nil {
		within.To, err = q.end("to")
	}
	return within, err
}

// end reads one end of a range; absent: 0, which is open.
func (q query) end(name string) (models.Millis, error) {
	text := q.get(name, "")
	if text == "" {
		return 0, nil
	}
	return stats.ParseMoment(name, text)
}

// moment reads a parameter that is one day or month; absent: the one that it is now.
func (q query) moment(name, layout string, now time.Time) (models.Millis, error) {
	t, err := time.Parse(layout, q.get(name, now.UTC().Format(layout)))
	if at := models.Millis(t.UnixMilli()); err == nil && at >= models.Earliest && at <= models.Latest {
		return at, nil
	}
	return 0, &stats.Malformed{Field: name, Detail: "want " + map[string]string{models.Daily: "a day, such as 2018-10-03", models.Monthly: "a month, such as 2018-10"}[layout]}
}

// period reads the parameter period; absent: this month.
func (q query) period(now time.Time) (stats.Period, error) {
	return stats.ParsePeriod(q.get("period", now.UTC().Format(models.Monthly)))
}

// metric reads the parameter metric; absent: views, or unique visitors if more than one feature is fixed, since views of combinations are
// not kept.
func (q query) metric(fixed int) (stats.Metric, error) {
	otherwise := stats.Views
	if fixed > 1 {
		otherwise = stats.Unique
	}
	return stats.ParseMetric(q.get("metric", string(otherwise)))
}

// limit reads the parameter limit; absent: 0, which is no limit.
func (q query) limit() (int, error) {
	text := q.get("limit", "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > stats.MaxRanked || strconv.Itoa(n) != text {
		return 0, &stats.Malformed{Field: "limit", Detail: "want 1 to " + strconv.Itoa(stats.MaxRanked)}
	}
	return n, nil
}
