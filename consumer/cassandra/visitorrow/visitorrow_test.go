package visitorrow

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"footfall/models"
)

func TestWays(t *testing.T) {
	f := func(of models.Ways, want string) {
		t.Helper()
		got := waysText(of)
		if back, ok := readWays(got); got != want || !ok || back != of {
			t.Errorf("%v is %q, want %q; read as %v, %v", of, got, want, back, ok)
		}
	}
	f(models.Ways{15, 15, 15}, "month:f week:f day:f")
	f(models.Ways{0, 1, 0}, "week:1")
	f(models.Ways{0xc, 0, 0x8000000000000001}, "month:c day:8000000000000001")
	for _, text := range []string{"", " ", "month", "month:", "month:f  day:f", "Month:f", "month:-1", "month:10000000000000000", "month:0x1", "f.f.f"} {
		if of, ok := readWays(text); ok {
			t.Errorf("%q is read as %v", text, of)
		}
	}
}

// An entry is read as it was written.
func TestEntries(t *testing.T) {
	table := Table{"ks.visitors", 2}
	e := table.NewEntry()
	e.Columns()
	first := models.First{
		At: models.Position{Topic: "visits", Partition: 3, Offset: 1 << 40}, Day: models.Earliest.Day(), Features: []string{"", "'/"}, Of: models.Ways{1, 2, 3},
	}
	args := AppendEntry(nil, models.Visitor{GUID: "g", Under: "\x00'/"}, first)[2:]
	e.at, e.seen = models.Position{Topic: args[0].(string), Partition: args[1].(int), Offset: args[2].(int64)}, args[3].([]string)
	if got, ok := e.First(); !ok || !reflect.DeepEqual(got, first) {
		t.Errorf("%+v is read as %+v, %v", first, got, ok)
	}
}

// An entry has exactly its sightings.
func TestHas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []string{"", "a", "b"}
	some := func() []string { return []string{values[r.IntN(3)], values[r.IntN(3)], values[r.IntN(3)]} }
	for range 2000 {
		day := models.Millis(1540000000000 + r.Int64N(40*86_400_000)).Day()
		v := models.Visitor{Site: "s", GUID: "g"}
		first := models.First{At: models.Position{Topic: "t", Offset: 7}, Day: day, Features: some()}
		for i := range first.Of {
			first.Of[i] = r.Uint64() & models.Subsets(models.Present(first.Features))
		}
		has := map[models.Sighting]bool{}
		for s := range first.Sightings(v) {
			has[s] = true
		}
		asked := &models.Visit{SiteID: "s", GUID: "g", TS: day + models.Millis(r.IntN(3)*86_400_000), Features: some()}
		if r.IntN(2) == 0 {
			asked.Features = first.Features
		}
		for _, s := range asked.Sightings() {
			if got := Has(first, s); got != has[s] {
				t.Fatalf("%+v in %+v: %v, want %v", s, first, got, has[s])
			}
		}
	}
}
