package models

import (
	"testing"
	"time"
)

func TestClosed(t *testing.T) {
	at := func(text string) Millis {
		m, err := time.Parse(time.DateTime, text+" 00:00:00")
		if err != nil {
			t.Fatal(err)
		}
		return Millis(m.UnixMilli())
	}
	f := func(interval, start, before string, want bool) {
		t.Helper()
		s := Sighting{Keyspace: Cardinality, Interval: interval, Start: at(start)}
		if got := s.Closed(at(before)); got != want {
			t.Errorf("the %s of %s is closed before %s: %v", interval, start, before, got)
		}
	}
	f(IntervalMonth, "2025-12-01", "2026-01-01", true)
	f(IntervalMonth, "2025-12-01", "2025-12-31", false)
	f(IntervalMonth, "2026-01-01", "2026-01-01", false)
	f(IntervalMonth, "2024-02-01", "2024-03-01", true)
	f(IntervalDay, "2025-12-31", "2026-01-01", true)
	f(IntervalDay, "2026-01-01", "2026-01-01", false)
	f(IntervalWeek, "2025-12-22", "2026-01-01", true)
	f(IntervalWeek, "2025-12-29", "2026-01-01", false) // reaches over the boundary
	f(IntervalWeek, "2025-12-29", "2026-01-04", false)
	f(IntervalWeek, "2025-12-29", "2026-01-05", true)
	if (Sighting{Keyspace: URLShortener}).Closed(Latest) {
		t.Error("a row of a link is closed")
	}
}
