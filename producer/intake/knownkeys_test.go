package intake

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"footfall/models"
)

// TestOneSiteDoesNotPushOutAnother: whoever makes up names, the known ones of others stay known.
func TestOneSiteDoesNotPushOutAnother(t *testing.T) {
	k := watchNewKeys(1000)
	k.known = newKnownKeys(3000)
	now := time.Unix(1_000_000, 0)
	visit := func(site, feature string) string {
		return reason(k.note("o", &models.Visit{SiteID: site, Features: []string{feature, ""}}, now))
	}
	for i := range 100 {
		if got := visit("quiet", fmt.Sprint(i)); got != "" {
			t.Fatal(got)
		}
	}
	for minute := range 20 {
		now = now.Add(time.Minute)
		for i := range 1500 {
			want := ""
			if i >= 1000 {
				want = tooManyNewKeys
			}
			if got := visit("loud", fmt.Sprint(minute, "-", i)); got != want {
				t.Fatalf("minute %d, name %d: %q", minute, i, got)
			}
		}
	}
	quiet := k.known.owner("site quiet")
	if quiet == nil {
		t.Fatal("the quiet site is forgotten")
	}
	before := quiet.fresh
	for i := range 100 {
		if got := visit("quiet", fmt.Sprint(i)); got != "" || quiet.fresh != before {
			t.Fatalf("feature %d of the quiet site: %q, new again", i, got)
		}
	}
	if k.known.used > 3000 {
		t.Errorf("%d of 3000 are used", k.known.used)
	}
}

// TestKnownKeysAddUp: whatever comes, the room is kept, the books are right, and the largest has to make room.
func TestKnownKeysAddUp(t *testing.T) {
	const room = 500
	k := newKnownKeys(room)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		name := fmt.Sprint(r.IntN(1 + r.IntN(200)))
		o := k.owner(name)
		if o == nil {
			o = k.newOwner(name)
		}
		if key := uint64(r.IntN(1000)); !o.has(key) {
			k.add(o, key)
		}
		used, most := 0, 0
		for name, o := range k.owners {
			if o.keys.Len() == 0 || k.most[o.place] != o || o.name != name {
				t.Fatalf("%s has %d keys and is at %d", name, o.keys.Len(), o.place)
			}
			used += ownerRoom + o.keys.Len()
			most = max(most, o.keys.Len())
		}
		if used != k.used || used > room || len(k.most) != len(k.owners) || k.most[0].keys.Len() != most {
			t.Fatalf("%d used, counted %d, by %d of %d; the first has %d of at most %d", used, k.used, len(k.most), len(k.owners), k.most[0].keys.Len(), most)
		}
	}
}
