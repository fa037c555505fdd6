package sweep

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"footfall/models"
)

// If intervals are too many for one pass, several passes have each of them once, with all its buckets.
func TestIntervalsInPasses(t *testing.T) {
	const sites, most = 100, 7
	end := models.IntervalEnd("day", models.Earliest.Day())
	seen := map[string]int{}
	passes := 0
	for todo := []class{{0, 1}}; len(todo) > 0; passes++ {
		l := newUnits(todo[0], end, most)
		todo = todo[1:]
		for _, bucket := range []string{"00", "a7", "ff", "by hand"} {
			for site := range sites {
				l.add(partition{site: fmt.Sprint(site), interval: "day", start: models.Earliest.Day(), bucket: bucket})
			}
		}
		l.add(partition{site: "later", interval: "day", start: end, bucket: "00"})
		if len(l.found) > most {
			t.Errorf("%d intervals at once", len(l.found))
		}
		for u, sources := range l.found {
			seen[u.site]++
			if len(sources) != 1 || !slices.Equal(sources[0].buckets.list(), []string{"by hand", "00", "a7", "ff"}) {
				t.Errorf("site %s has rows in %+v", u.site, sources)
			}
		}
		todo = append(todo, l.left...)
	}
	for site := range sites {
		if seen[fmt.Sprint(site)] != 1 {
			t.Errorf("site %d was listed %d times", site, seen[fmt.Sprint(site)])
		}
	}
	if len(seen) != sites || passes < sites/most {
		t.Errorf("%d sites in %d passes", len(seen), passes)
	}
}

func day(t *testing.T, text string) models.Millis {
	t.Helper()
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return models.Millis(at.UnixMilli())
}

// A visitor's row is over with its month, and so are the weeks that end in it, wherever they are.
func TestOver(t *testing.T) {
	f := func(inRows bool, interval, start, before string, want bool) {
		t.Helper()
		p := partition{inRows: inRows, site: "s", interval: interval, start: day(t, start)}
		if got := p.over(day(t, before)); got != want {
			t.Errorf("%+v is over on %s: %v", p, before, got)
		}
	}
	// October 2018 ends on a Wednesday.
	f(true, "", "2018-10-01", "2018-10-31", false)
	f(true, "", "2018-10-01", "2018-11-01", true)
	f(true, "", "2018-12-01", "2019-01-01", true)
	f(false, "month", "2018-10-01", "2018-11-01", true)
	f(false, "month", "2018-10-01", "2018-10-31", false)
	f(false, "day", "2018-10-31", "2018-11-01", true)
	f(false, "week", "2018-10-22", "2018-11-01", true)
	f(false, "week", "2018-10-29", "2018-11-01", false)
	f(false, "week", "2018-10-29", "2018-12-01", true)
	f(false, "by hand", "2018-10-29", "2018-12-01", true)
}

// All rows of a site's month are compared together, from both tables.
func TestUnits(t *testing.T) {
	u := newUnits(class{0, 1}, day(t, "2018-11-01"), 100)
	for _, p := range []partition{
		{inRows: true, site: "s", start: day(t, "2018-10-01"), bucket: "00"},
		{inRows: true, site: "s", start: day(t, "2018-10-01"), bucket: "01"},
		{site: "s", interval: "day", start: day(t, "2018-10-31"), bucket: "01"},
		{site: "s", interval: "week", start: day(t, "2018-10-22"), bucket: "01"},
		{site: "s", interval: "month", start: day(t, "2018-10-01"), bucket: "01"},
		{inRows: true, site: "s", start: day(t, "2018-11-01"), bucket: "00"},
		{site: "s", interval: "week", start: day(t, "2018-10-29"), bucket: "01"},
	} {
		u.add(p)
	}
	october := unit{"s", day(t, "2018-10-01")}
	if len(u.found) != 1 || len(u.found[october]) != 4 || len(partitions(u.found[october])) != 5 {
		t.Errorf("%+v", u.found)
	}
}
