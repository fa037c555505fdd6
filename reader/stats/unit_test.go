package stats

import (
	"errors"
	"testing"

	"footfall/models"
)

// on reads a moment.
func on(text string) models.Millis {
	t, err := ParseMoment("test", text)
	if err != nil {
		panic(err)
	}
	return t
}

func within(from, to string) Range { return Range{on(from), on(to)} }

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit           Unit
		at, start, end string
	}{
		{Hour, "2018-10-01T14:59:59.999Z", "2018-10-01T14", "2018-10-01T15"},
		{Hour, "2018-12-31T23:30:00Z", "2018-12-31T23", "2019-01-01"},
		{Day, "2018-02-28T23:59:59Z", "2018-02-28", "2018-03-01"},
		{Day, "2020-02-28T23:59:59Z", "2020-02-28", "2020-02-29"}, // a leap year
		{Day, "2100-02-28", "2100-02-28", "2100-03-01"},           // none
		{Day, "2018-03-25T01:30:00Z", "2018-03-25", "2018-03-26"}, // Europe's clocks move: UTC's do not
		{Week, "2018-10-01", "2018-10-01", "2018-10-08"},
		{Week, "2018-09-30T23:59:59Z", "2018-09-24", "2018-10-01"}, // a Sunday
		{Week, "2018-11-01", "2018-10-29", "2018-11-05"},           // over the end of a month
		{Week, "2019-01-01", "2018-12-31", "2019-01-07"},           // and of a year
		{Week, "2020-03-01", "2020-02-24", "2020-03-02"},           // and of a leap February
		{Month, "2018-12-31T23:59:59Z", "2018-12-01", "2019-01-01"},
		{Month, "2020-02-29", "2020-02-01", "2020-03-01"},
	} {
		start := c.unit.Start(on(c.at))
		if start != on(c.start) || c.unit.End(start) != on(c.end) {
			t.Errorf("the %s of %s: %v to %v, want %s to %s", c.unit, c.at, start.Time(), c.unit.End(start).Time(), c.start, c.end)
		}
	}
}

func TestRangesAreOfWholeUnits(t *testing.T) {
	for _, c := range []struct {
		by        Unit
		asked     Range
		from, end string // of the suggestion; both empty: it is one of whole units
	}{
		{Hour, within("2018-10-01T14", "2018-10-01T15"), "", ""},
		{Hour, within("2018-10-01T14:00:00.001Z", "2018-10-01T15"), "2018-10-01T14", "2018-10-01T15"},
		{Day, within("2018-10-01", "2018-10-02"), "", ""},
		{Day, within("2018-10-01T00:30:00+01:00", "2018-10-02"), "2018-09-30", "2018-10-02"}, // a day of another time zone
		{Week, within("2018-10-29", "2018-11-05"), "", ""},
		{Week, within("2018-10-01", "2018-11-01"), "2018-10-01", "2018-11-05"},
		{Week, within("2018-11-01", "2018-11-02"), "2018-10-29", "2018-11-05"},
		{Month, within("2018-10-01", "2018-11-01"), "", ""},
		{Month, within("2018-10-03", "2018-10-04"), "2018-10-01", "2018-11-01"},
		{Month, within("2018-10", "2020-02-29"), "2018-10-01", "2020-03-01"},
	} {
		err := c.asked.check(c.by)
		var not *NotAligned
		switch aligned := errors.As(err, &not); {
		case c.from == "" && err != nil:
			t.Errorf("%+v by %s: %v", c.asked, c.by, err)
		case c.from != "" && (!aligned || not.Aligned != within(c.from, c.end) || not.Unit != c.by || not.Asked != c.asked):
			t.Errorf("%+v by %s: %v; want the suggestion %s to %s", c.asked, c.by, err, c.from, c.end)
		case aligned && not.Aligned.check(c.by) != nil:
			t.Errorf("the suggestion is refused as well: %v", not.Aligned.check(c.by))
		}
	}
}

func TestRangesWithOpenEnds(t *testing.T) {
	for _, unit := range []Unit{Hour, Day, Week, Month} {
		for _, r := range []Range{{}, {From: on("2018-10-01")}, {To: on("2018-10-01")}} { // a Monday, and the first of a month
			if err := r.check(unit); err != nil {
				t.Errorf("%+v by %s: %v", r, unit, err)
			}
		}
		r := Range{To: on("2018-10-02T00:00:00.001Z")}
		var not *NotAligned
		if err := r.check(unit); !errors.As(err, &not) || not.Aligned.From != 0 {
			t.Errorf("%+v by %s: %v", r, unit, err)
		}
	}
}

func TestRangesThatAreNone(t *testing.T) {
	for what, r := range map[string]Range{
		"empty": within("2018-10-01", "2018-10-01"), "backwards": within("2018-10-02", "2018-10-01"), "before all time": {From: -1},
		"after all time": {To: 300_000_000_000_000}, "ends before it begins": {To: -1},
	} {
		var malformed *Malformed
		if err := r.check(Day); !errors.As(err, &malformed) {
			t.Errorf("%s: %v, want a *Malformed", what, err)
		}
	}
	var malformed *Malformed
	if err := (Range{}).check("fortnight"); !errors.As(err, &malformed) || malformed.Field != "by" {
		t.Errorf("no unit: %v", err)
	}
}

func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		text       string
		unit       Unit
		start, end string
	}{
		{"2018-10", Month, "2018-10-01", "2018-11-01"},
		{"2020-02", Month, "2020-02-01", "2020-03-01"},
		{"2018-W40", Week, "2018-10-01", "2018-10-08"},
		{"2018-W44", Week, "2018-10-29", "2018-11-05"},
		{"2019-W01", Week, "2018-12-31", "2019-01-07"}, // its Monday is in the year before
		{"2020-W53", Week, "2020-12-28", "2021-01-04"},
		{"2021-W01", Week, "2021-01-04", "2021-01-11"},
		{"2016-02-29", Day, "2016-02-29", "2016-03-01"},
		{"1970-W02", Week, "1970-01-05", "1970-01-12"},
	} {
		p, err := ParsePeriod(c.text)
		if err != nil || p.Unit != c.unit || p.Start != on(c.start) || p.End() != on(c.end) || p.String() != c.text {
			t.Errorf("%s: %+v (%s), %v; want the %s from %s to %s", c.text, p, p, err, c.unit, c.start, c.end)
		}
	}
	for _, text := range []string{"", "2018", "2018-13", "2018-W00", "2018-W53", "2018-w40", "2018-02-29", "2018-10-01T14", "18-10", "1969-12",
		"10000-01", "2018-W4", " 2018-10", "2018-10\x00", "２０１８-10"} {
		var malformed *Malformed
		if p, err := ParsePeriod(text); !errors.As(err, &malformed) {
			t.Errorf("%q: %+v, %v; want a *Malformed", text, p, err)
		}
	}
}

func TestMoments(t *testing.T) {
	for text, want := range map[string]string{
		"2018-10": "2018-10-01T00:00:00Z", "2018-10-03": "2018-10-03T00:00:00Z", "2018-10-03T14": "2018-10-03T14:00:00Z",
		"2018-10-03T14:30Z": "2018-10-03T14:30:00Z", "2018-10-03T14:00:00+02:00": "2018-10-03T12:00:00Z", "2018-W40": "2018-10-01T00:00:00Z",
		"2018-10-03T14:00:00.5Z": "2018-10-03T14:00:00.5Z",
	} {
		got, err := ParseMoment("from", text)
		if err != nil || got.Time().Format("2006-01-02T15:04:05.999Z07:00") != want {
			t.Errorf("%s: %v, %v; want %s", text, got.Time(), err, want)
		}
	}
	for _, text := range []string{"", "now", "2018-10-03T14:00", "2018-10-03 14:00", "1969-12-31", "10000-12-01", "2018-02-30"} {
		var malformed *Malformed
		if got, err := ParseMoment("from", text); !errors.As(err, &malformed) || malformed.Field != "from" {
			t.Errorf("%q: %v, %v; want a *Malformed about from", text, got, err)
		}
	}
}
