package page

import (
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
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
		{"lists that are not filled", stats.Top{Period: day, Unlisted: true}, "Lists are being filled: run consumer catalogue. Until it has finished, a busier name may be missing.", false},
		{"some of such lists", stats.Top{Period: day, Values: 7, Unlisted: true}, "Lists are being filled: run consumer catalogue. Until it has finished, a busier name may be missing.", false},
	} {
		if note, empty := partial(c.top), isEmpty(c.top); note != c.note || empty != c.empty {
			t.Errorf("%s: %q, empty %v; want %q, %v", c.what, note, empty, c.note, c.empty)
		}
	}
}

// Pages say that names may be missing, and do not say that nothing was counted.
func TestRankingsOfListsThatAreNotFilled(t *testing.T) {
	m := statstest.NewMemory(demoPlan(t))
	m.Unlist(true)
	at := models.Millis(today.UnixMilli())
	site := models.Key{Keyspace: models.Cardinality, Name: "old.example", Month: at.Month(), Features: models.NewFeatures("", "")}
	m.Count(t, statstest.Counts{site: {{Counter: models.MonthUnique, At: at.Month()}: 5, {Counter: models.MonthViews, At: at.Month()}: 9}}) // and not listed
	h := newPage(m)
	for _, path := range []string{"/", "/sites/old.example"} {
		_, text := get(t, h, path)
		if !strings.Contains(text, "Lists are being filled: run consumer catalogue.") || !strings.Contains(text, "No name is listed yet.") {
			t.Errorf("%s does not say that names are missing: %s", path, text)
		}
		for _, wrong := range []string{"No link was clicked today", "No site was visited this month", "No visit of this period had one", "too many names"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s says %q: %s", path, wrong, text)
			}
		}
	}
}
