package page

import (
	"strings"
	"testing"
	"time"

	"footfall/reader/stats"
)

func TestNumbersInWords(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(change(0, 0), "")
	f(change(5, 5), "as many as before")
	f(change(5, 0), "none before")
	f(change(133, 100), "+33% on the period before")
	f(change(0, 100), "−100% on the period before")
	f(change(10_001, 10_000), "about as many as before")
	f(change(50_000, 10), "5,000 times as many as before")
	f(percent(1, 0), "")
	f(percent(0, 7), "0%")
	f(percent(1, 3), "33%")
	f(percent(1, 30), "3.3%")
	f(percent(1, 3000), "< 0.1%")
	f(percent(7, 7), "100%")
	f(country("IT"), "Italy")
	f(country("ZZ"), "Unknown")
	f(country("<b>"), "<b>")
	f(clip(strings.Repeat("ü", 64)), strings.Repeat("ü", 64))
	f(clip(strings.Repeat("ü", 65)), strings.Repeat("ü", 63)+"…")
	f(featureParam("page"), "page")
	f(featureParam("period"), "feature.period")
}

func TestHowFarTheCountsReach(t *testing.T) {
	f := func(as stats.AsOf, when string, well bool, notes ...string) {
		t.Helper()
		got := reached(as, today)
		if got.When != when || got.Well != well || strings.Join(got.Notes, "|") != strings.Join(notes, "|") {
			t.Errorf("%+v", got)
		}
	}
	f(stats.AsOf{}, "", false)
	f(stats.AsOf{Time: today, Counting: true}, "14:03:30 UTC", true, "up to date")
	f(stats.AsOf{Time: today.Add(-24 * time.Hour), Lag: 1, Counting: true}, "14:03:30 UTC on 17 November 2026", true, "1 event behind")
	f(stats.AsOf{Time: today, Lag: 1200, Doubts: 2}, "14:03:30 UTC", false, "1,200 events behind", "no consumer is counting right now", "2 open doubts: some counts may still be corrected")
}
