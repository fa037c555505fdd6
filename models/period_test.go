package models

import (
	"strings"
	"testing"
	"time"
)

func TestPeriodNames(t *testing.T) {
	hash := []byte(strings.Repeat("\xab", 32))
	for period, want := range map[string]string{
		"2026-11": "2026-12-01", "2026-12": "2027-01-01", "2026-02-28": "2026-03-01", "2028-02-28": "2028-02-29", "2026-12-31": "2027-01-01",
	} {
		name := PeriodName(period, hash)
		if end, ok := PeriodEnd(name); !ok || end.Format(time.DateOnly) != want || end.Location() != time.UTC || len(name) > MaxIP {
			t.Errorf("%s ends %v, %v, want %s", name, end, ok, want)
		}
	}
	for _, name := range []string{
		"", "203.0.113.7", "2001:db8::1", strings.Repeat("ab", 32), "2026-11", "2026-11:", "2026-11:abab", "2026-13:" + strings.Repeat("ab", 24),
		"2026-11-31:" + strings.Repeat("ab", 24), "11:" + strings.Repeat("ab", 24), ":" + strings.Repeat("ab", 24),
	} {
		if end, ok := PeriodEnd(name); ok {
			t.Errorf("%q ends %v", name, end)
		}
	}
}
