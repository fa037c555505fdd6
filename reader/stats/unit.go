package stats

import (
	"time"

	"footfall/models"
)

// Unit is the length of one step of a series. All units are of UTC, where a day always has 24 hours.
type Unit string

// The units. A week is one of ISO 8601: it begins on Monday.
const (
	Hour  Unit = "hour"
	Day   Unit = "day"
	Week  Unit = "week"
	Month Unit = "month"
)

// ParseUnit reads the name of a unit. The error is a *Malformed.
func ParseUnit(text string) (Unit, error) {
	switch u := Unit(text); u {
	case Hour, Day, Week, Month:
		return u, nil
	}
	return "", &Malformed{Field: "by", Detail: "want hour, day, week or month"}
}

// Start is the start of the hour, day, week or month that t is in.
func (u Unit) Start(t models.Millis) models.Millis {
	switch u {
	case Hour:
		return t.Hour()
	case Day:
		return t.Day()
	case Week:
		return t.Week()
	}
	return t.Month()
}

// End is the first moment after the hour, day, week or month that begins at start.
func (u Unit) End(start models.Millis) models.Millis {
	switch u {
	case Hour:
		return start + models.Millis(time.Hour.Milliseconds())
	case Week:
		return models.IntervalEnd(models.IntervalWeek, start)
	case Month:
		return models.IntervalEnd(models.IntervalMonth, start)
	}
	return models.IntervalEnd(models.IntervalDay, start)
}

// Range is the time [From, To), in UTC. A zero From is the beginning of all counts, a zero To has no end: the zero Range is all time.
type Range struct{ From, To models.Millis }

// Whole tells whether the range is all time.
func (r Range) Whole() bool { return r == Range{} }

// Contains tells whether a moment is within the range.
func (r Range) Contains(t models.Millis) bool { return t >= r.From && (r.To == 0 || t < r.To) }

// aligned is the smallest range of whole units that has all of r. Open ends stay open.
func (r Range) aligned(u Unit) Range {
	var out Range
	if r.From != 0 {
		out.From = u.Start(r.From)
	}
	if r.To != 0 {
		out.To = u.Start(r.To)
	}
	if out.To != r.To {
		out.To = u.End(out.To)
	}
	return out
}

// lastMoment is the end of the last week that an event can be in.
var lastMoment = Week.End(models.Latest.Week())

const outside = "want a moment from 1970 to 9999"

// check refuses a range that has nothing in it, that no event can be in, or that cuts a unit in two.
func (r Range) check(u Unit) error {
	if _, err := ParseUnit(string(u)); err != nil {
		return err
	}
	switch {
	case r.From < 0 || r.From > lastMoment:
		return &Malformed{Field: "from", Detail: outside}
	case r.To < 0 || r.To > lastMoment:
		return &Malformed{Field: "to", Detail: outside}
	case r.To != 0 && r.To <= r.From:
		return &Malformed{Field: "to", Detail: "want a moment after from: the range is from <= t < to"}
	}
	if aligned := r.aligned(u); aligned != r {
		return &NotAligned{Unit: u, Asked: r, Aligned: aligned}
	}
	return nil
}

// Metric is what is counted of a site.
type Metric string

// The metrics of sites. Views add up; unique visitors do not.
const (
	Views  Metric = "views"
	Unique Metric = "unique"
)

// ParseMetric reads the name of a metric. The error is a *Malformed.
func ParseMetric(text string) (Metric, error) {
	switch m := Metric(text); m {
	case Views, Unique:
		return m, nil
	}
	return "", &Malformed{Field: "metric", Detail: "want views or unique"}
}
