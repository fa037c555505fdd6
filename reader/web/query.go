package web

import (
	"cmp"
	"strconv"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// get is the value of a parameter, or otherwise if it is absent or empty.
func (q question) get(name, otherwise string) string { return cmp.Or(q.Values[name], otherwise) }

// read reads the parameters of a route, but for features and formats.
func (q *question) read(names []string) (err error) {
	for _, name := range names {
		switch name {
		case "day":
			q.at, err = q.moment(name, models.Daily, "a day, such as 2018-10-03")
		case "month":
			q.at, err = q.moment(name, models.Monthly, "a month, such as 2018-10")
		case "by":
			q.by, err = stats.ParseUnit(q.get(name, string(stats.Day)))
		case "from":
			q.within.From, err = q.end(name)
		case "to":
			q.within.To, err = q.end(name)
		case "period":
			q.period, err = stats.ParsePeriod(q.get(name, q.now.UTC().Format(models.Monthly)))
		case "metric":
			q.metric, err = stats.ParseMetric(q.get(name, string(q.usual())))
		case "limit":
			q.limit, err = q.most(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end reads one end of a range; absent: 0, which is open.
func (q question) end(name string) (models.Millis, error) {
	text := q.get(name, "")
	if text == "" {
		return 0, nil
	}
	return stats.ParseMoment(name, text)
}

// moment reads a parameter that is one day or month; absent: the one that it is now.
func (q question) moment(name, layout, want string) (models.Millis, error) {
	t, err := time.Parse(layout, q.get(name, q.now.UTC().Format(layout)))
	if at := models.Millis(t.UnixMilli()); err == nil && at >= models.Earliest && at <= models.Latest {
		return at, nil
	}
	return 0, &stats.Malformed{Field: name, Detail: "want " + want}
}

// usual is the metric where none is asked for: views, or unique visitors if more than one feature is fixed, since views of combinations
// are not kept.
func (q question) usual() stats.Metric {
	fixed := len(q.Features)
	if q.feature != "" {
		fixed++
	}
	if fixed > 1 {
		return stats.Unique
	}
	return stats.Views
}

// most reads a number of rows; absent: 0, which is no limit.
func (q question) most(name string) (int, error) {
	text := q.get(name, "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > stats.MaxRanked || strconv.Itoa(n) != text {
		return 0, &stats.Malformed{Field: name, Detail: "want 1 to " + strconv.Itoa(stats.MaxRanked)}
	}
	return n, nil
}
