package cassandra

import (
	"fmt"
	"slices"
	"testing"

	"footfall/models"
)

// If months of sites are too many for one pass, several passes have each of them once, with all its buckets.
func TestIntervalsInPasses(t *testing.T) {
	const sites, most = 100, 7
	end := models.IntervalEnd(models.IntervalMonth, models.Earliest.Month())
	seen := map[string]int{}
	passes := 0
	for todo := []class{{0, 1}}; len(todo) > 0; passes++ {
		l := newUnits(todo[0], end, most)
		todo = todo[1:]
		for _, bucket := range []string{"00", "a7", "ff", "by hand"} {
			for site := range sites {
				l.add(visitorPartition{Site: fmt.Sprint(site), Month: models.Earliest.Month(), Bucket: bucket})
			}
		}
		l.add(visitorPartition{Site: "later", Month: end, Bucket: "00"})
		if len(l.found) > most {
			t.Errorf("%d intervals at once", len(l.found))
		}
		for u, buckets := range l.found {
			seen[u.site]++
			if !slices.Equal(buckets.list(), []string{"by hand", "00", "a7", "ff"}) {
				t.Errorf("site %s has rows in %+v", u.site, buckets.list())
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
