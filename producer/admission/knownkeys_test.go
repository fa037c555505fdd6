package admission

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"footfall/models"
)

// noted records one visit after the other, by a clock that the test moves.
type noted struct {
	k   *newKeys
	now time.Time
}

func (n *noted) visit(grant, site, feature string) string {
	return reason(n.k.check(grant, &models.Visit{SiteID: site, TS: models.Millis(n.now.UnixMilli()), Features: []string{feature, ""}}, n.now))
}

// scaled has an eighth of the memory and of the limit, for an eighth of the events.
func scaled(began time.Time) *noted {
	k := limitNewKeys(10_000/8, 0)
	k.names, k.details = newKnownKeys[*minute](namesKept/8), newKnownKeys[struct{}](detailsKept/8)
	return &noted{k: k, now: began}
}

// TestManySitesOfOneKey: 5,000 sites with 50 combinations of features each share a key, or have none, and send 500 events a second for
// an hour and a half (here an eighth of each). That fills the memory, and no event is refused. Nor is one with twice as many sites, whose
// combinations do not fit.
func TestManySitesOfOneKey(t *testing.T) {
	for _, sites := range []int{5_000 / 8, 10_000 / 8} {
		n := scaled(time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)) // the month ends within
		r := rand.New(rand.NewPCG(1, 2))
		names := make([]string, sites)
		for i := range names {
			names[i] = fmt.Sprint("site", i)
		}
		features := make([]string, 50)
		for i := range features {
			features[i] = fmt.Sprint("feature", i)
		}
		for second := range 90 * 60 {
			n.now = n.now.Add(time.Second)
			for range 500 / 8 {
				if got := n.visit("anyone", names[r.IntN(sites)], features[r.IntN(50)]); got != "" {
					t.Fatalf("%d sites: refused in second %d: %s", sites, second, got)
				}
			}
		}
		if n.k.details.used != detailsKept/8 || n.k.names.used != sites {
			t.Fatalf("%d sites and %d others are known: the room was not needed", n.k.names.used, n.k.details.used)
		}
	}
}

// TestOneGrantDoesNotPushOutAnother: a grant that makes up names of sites or features does not evict the known names of others.
func TestOneGrantDoesNotPushOutAnother(t *testing.T) {
	const quiet, many = 5_000 / 8, 10_000 / 8
	for name, made := range map[string]func(minute, i int) (site, feature string){
		"sites":    func(minute, i int) (string, string) { return fmt.Sprint("s", minute, "-", i), "" },
		"features": func(minute, i int) (string, string) { return "loud", fmt.Sprint(minute, "-", i) },
	} {
		n := scaled(time.Unix(1_000_000, 0))
		for i := range quiet {
			if got := n.visit("quiet", "quiet", fmt.Sprint(i)); got != "" {
				t.Fatal(got)
			}
		}
		for minute := range 60 {
			n.now = n.now.Add(time.Minute)
			for i := range many + 1 {
				site, feature := made(minute, i)
				if got := n.visit("loud", site, feature); (got != "") != (i == many) {
					t.Fatalf("%s, minute %d, number %d: %q", name, minute, i, got)
				}
			}
		}
		if n.k.details.used != detailsKept/8 {
			t.Fatalf("%s: %d of %d are used, the room was not needed", name, n.k.details.used, detailsKept/8)
		}
		if kept := n.k.details.grants["quiet"].keys.Len(); kept != quiet || n.k.names.grants["quiet"].keys.Len() != 1 {
			t.Errorf("%s: of the quiet site's %d features %d are known", name, quiet, kept)
		}
		// It may have as many new names as before: known ones do not count.
		for i := range quiet + many {
			if got := n.visit("quiet", "quiet", fmt.Sprint(i)); got != "" {
				t.Fatalf("%s: feature %d of the quiet site: %q", name, i, got)
			}
		}
	}
}

// TestWhatIsSeenStaysKnown: the least recently seen name is evicted, not the oldest.
func TestWhatIsSeenStaysKnown(t *testing.T) {
	k := newKnownKeys[string](3)
	for key := range uint64(100) {
		k.add("o", key, "")
		if _, known := k.get("o", 0); !known {
			t.Fatalf("seen all the time and forgotten after %d others", key)
		}
	}
}

// TestKnownKeysAddUp: with random names the memory stays bounded, the counts per grant are right, the largest grant loses names first, and
// the last seen name is known.
func TestKnownKeysAddUp(t *testing.T) {
	const room = 500
	k := newKnownKeys[int](room)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		grant, key := fmt.Sprint(r.IntN(1+r.IntN(40))), uint64(r.IntN(1000))
		if _, known := k.get(grant, key); !known {
			k.add(grant, key, i)
			if got, known := k.get(grant, key); (!known || got != i) && k.grants[grant].keys.Len() > 1 {
				t.Fatalf("%s forgot what it just saw", grant)
			}
		}
		used, most := 0, 0
		for name, of := range k.grants {
			if k.most[of.index] != of {
				t.Fatalf("%s is not at %d", name, of.index)
			}
			used += of.keys.Len()
			most = max(most, of.keys.Len())
		}
		if used != k.used || used > room || len(k.most) != len(k.grants) || k.most[0].keys.Len() != most {
			t.Fatalf("%d used, counted %d, by %d of %d; the first has %d of at most %d", used, k.used, len(k.most), len(k.grants), k.most[0].keys.Len(), most)
		}
	}
}
