package models

import (
	"testing"
	"time"
)

const layout = "2006-01-02T15:04:05.000"

func at(t *testing.T, text string) Millis {
	t.Helper()
	parsed, err := time.Parse(layout, text)
	if err != nil {
		t.Fatal(err)
	}
	return Millis(parsed.UnixMilli())
}

func TestBuckets(t *testing.T) {
	f := func(moment, hour, day, week, month string) {
		t.Helper()
		ts := at(t, moment)
		for _, b := range []struct {
			name string
			got  Millis
			want string
		}{
			{"hour", ts.Hour(), hour}, {"day", ts.Day(), day}, {"week", ts.Week(), week}, {"month", ts.Month(), month},
		} {
			if got := b.got.Time().Format(layout); got != b.want+".000" {
				t.Errorf("%s of %s = %s, want %s", b.name, moment, got, b.want)
			}
		}
	}
	// a Wednesday in the middle of a month
	f("2018-10-17T13:45:30.123", "2018-10-17T13:00:00", "2018-10-17T00:00:00", "2018-10-15T00:00:00", "2018-10-01T00:00:00")
	// the first and the last millisecond of a week that is wholly in one month
	f("2018-10-01T00:00:00.000", "2018-10-01T00:00:00", "2018-10-01T00:00:00", "2018-10-01T00:00:00", "2018-10-01T00:00:00")
	f("2018-09-30T23:59:59.999", "2018-09-30T23:00:00", "2018-09-30T00:00:00", "2018-09-24T00:00:00", "2018-09-01T00:00:00")
	// a week that begins in the month before
	f("2018-11-01T00:00:00.000", "2018-11-01T00:00:00", "2018-11-01T00:00:00", "2018-10-29T00:00:00", "2018-11-01T00:00:00")
	f("2018-11-04T23:59:59.999", "2018-11-04T23:00:00", "2018-11-04T00:00:00", "2018-10-29T00:00:00", "2018-11-01T00:00:00")
	f("2018-11-05T00:00:00.000", "2018-11-05T00:00:00", "2018-11-05T00:00:00", "2018-11-05T00:00:00", "2018-11-01T00:00:00")
	// a week over the end of a year, which is ISO week 1 of the next and week 53 of the last
	f("2019-01-01T00:00:00.000", "2019-01-01T00:00:00", "2019-01-01T00:00:00", "2018-12-31T00:00:00", "2019-01-01T00:00:00")
	f("2021-01-03T12:00:00.000", "2021-01-03T12:00:00", "2021-01-03T00:00:00", "2020-12-28T00:00:00", "2021-01-01T00:00:00")
	// leap days: every four years, also in 2000, not in 2100
	f("2024-02-29T23:59:59.999", "2024-02-29T23:00:00", "2024-02-29T00:00:00", "2024-02-26T00:00:00", "2024-02-01T00:00:00")
	f("2024-03-01T00:00:00.000", "2024-03-01T00:00:00", "2024-03-01T00:00:00", "2024-02-26T00:00:00", "2024-03-01T00:00:00")
	f("2000-02-29T06:00:00.000", "2000-02-29T06:00:00", "2000-02-29T00:00:00", "2000-02-28T00:00:00", "2000-02-01T00:00:00")
	f("2100-03-01T00:00:00.000", "2100-03-01T00:00:00", "2100-03-01T00:00:00", "2100-03-01T00:00:00", "2100-03-01T00:00:00")
	// the first and the last valid timestamp
	f(Earliest.Time().Format(layout), "1973-03-03T09:00:00", "1973-03-03T00:00:00", "1973-02-26T00:00:00", "1973-03-01T00:00:00")
	f(Latest.Time().Format(layout), "9999-12-31T23:00:00", "9999-12-31T00:00:00", "9999-12-27T00:00:00", "9999-12-01T00:00:00")
}

// The buckets of every day of 130 years, at its first and last millisecond, are those of package time.
func TestBucketsAgreeWithTheCalendar(t *testing.T) {
	for d := time.Date(1973, 3, 4, 0, 0, 0, 0, time.UTC); d.Year() < 2104; d = d.AddDate(0, 0, 1) {
		monday := d.AddDate(0, 0, -(int(d.Weekday())+6)%7)
		first := time.Date(d.Year(), d.Month(), 1, 0, 0, 0, 0, time.UTC)
		for _, moment := range []time.Time{d, d.Add(24*time.Hour - time.Millisecond)} {
			ts := Millis(moment.UnixMilli())
			if ts.Day().Time() != d || ts.Week().Time() != monday || ts.Month().Time() != first || ts.Hour().Time() != moment.Truncate(time.Hour) {
				t.Fatalf("%s: hour %s, day %s, week %s, month %s", moment, ts.Hour().Time(), ts.Day().Time(), ts.Week().Time(), ts.Month().Time())
			}
		}
	}
}

func TestTimestampLimits(t *testing.T) {
	f := func(ts Millis, want string) {
		t.Helper()
		if got := reason(timestamp(ts)); got != want {
			t.Errorf("timestamp(%d) = %q, want %q", ts, got, want)
		}
	}
	f(Absent, ReasonMissingTimestamp)
	f(Absent+1, ReasonBadTimestamp)
	f(0, ReasonBadTimestamp)
	f(Earliest-1, ReasonBadTimestamp)
	f(Earliest, "")
	f(Latest, "")
	f(Latest+1, ReasonBadTimestamp)
	f(1522802128, ReasonBadTimestamp)             // seconds
	f(1522802128_000_000, ReasonBadTimestamp)     // microseconds
	f(Millis(time.Now().Unix()*1000), "")         // now
	f(Millis(time.Now().Unix()), "bad_timestamp") // now in seconds
}
