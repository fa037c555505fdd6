package models

import "time"

// Millis is a moment in Unix milliseconds, as events carry it. All buckets are UTC.
type Millis int64

// Absent is the timestamp of an event that came without one. The producer replaces it by its own time; on a topic it is invalid.
const Absent Millis = -1 << 63

const (
	hour Millis = 3_600_000
	day         = 24 * hour

	// Earliest is the first valid timestamp, in March 1973: so seconds in place of milliseconds are noticed.
	Earliest Millis = 100_000_000_000
	// Latest is the last valid timestamp, the end of the year 9999: so microseconds in place of milliseconds are noticed.
	Latest Millis = 253_402_300_799_999
)

// Time is t as a time.Time in UTC.
func (t Millis) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Hour is the start of t's hour.
func (t Millis) Hour() Millis { return t - t%hour }

// Day is the start of t's day.
func (t Millis) Day() Millis { return t - t%day }

// Week is the start of the Monday of t's ISO week.
func (t Millis) Week() Millis {
	days := t / day
	return (days - (days+3)%7) * day // day 0 of the Unix clock was a Thursday
}

// Month is the start of the first day of t's month.
func (t Millis) Month() Millis {
	y, m, _ := t.Time().Date()
	return Millis(time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
}

func timestamp(t Millis) error {
	switch {
	case t == Absent:
		return &Invalid{Reason: ReasonMissingTimestamp}
	case t < Earliest:
		return &Invalid{ReasonBadTimestamp, "before March 1973: are these seconds instead of milliseconds?"}
	case t > Latest:
		return &Invalid{ReasonBadTimestamp, "after the year 9999: is the unit right?"}
	}
	return nil
}
