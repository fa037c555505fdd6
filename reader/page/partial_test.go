package page

import (
	"testing"

	"footfall/reader/stats"
)

func TestWhatARankingLeavesOut(t *testing.T) {
	day := stats.PeriodOf(stats.Day, 0)
	for _, c := range []struct {
		what  string
		top   stats.Top
		note  string
		empty bool
	}{
		{"not asked for", stats.Top{}, "", false},
		{"nothing", stats.Top{Period: day, Complete: true}, "", true},
		{"all", stats.Top{Period: day, Values: 7, Complete: true}, "", false},
		{"some", stats.Top{Period: day, Values: 2000}, "Ranked are the first 2,000 names; there are more, and a busier one may be missing.", false},
	} {
		if note, empty := partial(c.top), isEmpty(c.top); note != c.note || empty != c.empty {
			t.Errorf("%s: %q, empty %v; want %q, %v", c.what, note, empty, c.note, c.empty)
		}
	}
}
