package stats

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"footfall/models"
)

// Period is one hour, day, week or month.
type Period struct {
	Unit  Unit
	Start models.Millis
}

// PeriodOf is the period of a unit that t is in.
func PeriodOf(u Unit, t models.Millis) Period { return Period{u, u.Start(t)} }

// End is the first moment after the period.
func (p Period) End() models.Millis { return p.Unit.End(p.Start) }

// Range is the period as a range.
func (p Period) Range() Range { return Range{p.Start, p.End()} }

const hourLayout = "2006-01-02T15"

// String writes the period as ParsePeriod reads it.
func (p Period) String() string {
	t := p.Start.Time()
	switch p.Unit {
	case Month:
		return t.Format(models.Monthly)
	case Week:
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case Hour:
		return t.Format(hourLayout)
	}
	return t.Format(models.Daily)
}

var isoWeek = regexp.MustCompile(`^([0-9]{4})-W([0-9]{2})$`)

// ParsePeriod reads a month (2018-10), an ISO week (2018-W40) or a day (2018-10-03). The error is a *Malformed.
func ParsePeriod(text string) (Period, error) {
	p, err := parsePeriod(text)
	if err != nil || p.Start < 0 || p.Start > models.Latest {
		return Period{}, &Malformed{Field: "period", Detail: "want a month (2018-10), an ISO week (2018-W40) or a day (2018-10-03), from 1970 to 9999"}
	}
	return p, nil
}

func parsePeriod(text string) (Period, error) {
	if m := isoWeek.FindStringSubmatch(text); m != nil {
		year, _ := strconv.Atoi(m[1]) // four digits
		week, _ := strconv.Atoi(m[2])
		// The fourth of January is always in week 1.
		first := models.Millis(time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC).UnixMilli())
		p := PeriodOf(Week, first+models.Millis(week-1)*models.Millis((7*24*time.Hour).Milliseconds()))
		if p.String() != text { // week 53 of a year that has 52, or week 0
			return Period{}, strconv.ErrRange
		}
		return p, nil
	}
	if t, err := time.Parse(models.Monthly, text); err == nil {
		return Period{Month, models.Millis(t.UnixMilli())}, nil
	}
	t, err := time.Parse(models.Daily, text)
	return Period{Day, models.Millis(t.UnixMilli())}, err
}

// ParseMoment reads a month (2018-10), an ISO week (2018-W40), a day (2018-10-03), an hour (2018-10-03T14) or a time of RFC 3339
// (2018-10-03T14:00:00Z): the start of it, in UTC. field names the parameter in the error, a *Malformed.
func ParseMoment(field, text string) (models.Millis, error) {
	if p, err := parsePeriod(text); err == nil {
		return inTime(field, p.Start)
	}
	for _, layout := range []string{hourLayout, "2006-01-02T15:04Z", time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil {
			return inTime(field, models.Millis(t.UnixMilli()))
		}
	}
	return 0, &Malformed{Field: field, Detail: "want a day (2018-10-03), an hour (2018-10-03T14), a month (2018-10), an ISO week (2018-W40)" +
		" or a time (2018-10-03T14:00:00Z)"}
}

func inTime(field string, t models.Millis) (models.Millis, error) {
	if t < 0 || t > lastMoment {
		return 0, &Malformed{Field: field, Detail: outside}
	}
	return t, nil
}
