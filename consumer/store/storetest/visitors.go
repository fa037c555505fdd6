package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"

	"footfall/models"
)

// visitors is what a case of rows works with: what should be in them.
type visitors struct {
	*suite
	want  map[models.Visitor]map[models.Position]models.First
	first map[models.Sighting]models.Position
	next  int64
}

// withRows runs a case of rows.
func withRows(run func(*testing.T, *visitors)) func(*testing.T, *suite) {
	return func(t *testing.T, s *suite) {
		run(t, &visitors{suite: s, want: map[models.Visitor]map[models.Position]models.First{}, first: map[models.Sighting]models.Position{}})
	}
}

// read reads rows, in their order.
func (v *visitors) read(ctx context.Context, whose []models.Visitor) ([][]models.First, error) {
	rows := make([][]models.First, len(whose))
	err := v.store.Visitors(ctx, whose, func(i int, entry models.First) { rows[i] = append(rows[i], entry) })
	return rows, err
}

// visit decides about a visit as a consumer would, and returns what has to be remembered of it.
func (v *visitors) visit(visit *models.Visit) map[models.Visitor]models.First {
	v.next++
	at := models.Position{Topic: "visits", Partition: int(v.next % 6), Offset: v.next}
	fresh := map[models.Visitor]models.First{}
	for _, sighting := range visit.Sightings() {
		if _, seen := v.first[sighting]; seen {
			continue
		}
		v.first[sighting] = at
		whose, place := sighting.Row()
		f := fresh[whose]
		f.At, f.Day, f.Features = at, visit.TS.Day(), visit.Features
		f.Of[place] |= 1 << models.Present(sighting.Features.Values())
		fresh[whose] = f
	}
	for whose, f := range fresh {
		v.expect(whose, f)
	}
	return fresh
}

func (v *visitors) expect(whose models.Visitor, f models.First) {
	if v.want[whose] == nil {
		v.want[whose] = map[models.Position]models.First{}
	}
	v.want[whose][f.At] = f
}

// remember stores entries, and what has the caller changes afterwards.
func (v *visitors) remember(t *testing.T, entries map[models.Visitor][]models.First) {
	t.Helper()
	var whose []models.Visitor
	var firsts [][]models.First
	for visitor, list := range entries {
		whose, firsts = append(whose, visitor), append(firsts, slices.Clone(list))
	}
	if err := v.store.RememberFirsts(t.Context(), whose, firsts); err != nil {
		t.Fatalf("RememberFirsts: %v", err)
	}
	for _, list := range firsts {
		clear(list) // the store must not have kept the lists
	}
	clear(whose)
}

// rememberAll stores all that is expected.
func (v *visitors) rememberAll(t *testing.T) {
	t.Helper()
	entries := map[models.Visitor][]models.First{}
	for whose, firsts := range v.want {
		entries[whose] = slices.Collect(maps.Values(firsts))
	}
	v.remember(t, entries)
}

// check reads all rows that are expected, and some of visitors who were never there.
func (v *visitors) check(t *testing.T, absent ...models.Visitor) {
	t.Helper()
	all := slices.AppendSeq(absent, maps.Keys(v.want))
	rows, err := v.read(t.Context(), all)
	if err != nil {
		t.Fatalf("reading rows of %d visitors: %v", len(all), err)
	}
	order := func(a, b models.First) int {
		return cmp.Or(cmp.Compare(a.At.Topic, b.At.Topic), cmp.Compare(a.At.Partition, b.At.Partition), cmp.Compare(a.At.Offset, b.At.Offset))
	}
	wrong := 0
	for i, row := range rows {
		want := slices.SortedFunc(maps.Values(v.want[all[i]]), order)
		slices.SortFunc(row, order)
		same := func(a, b models.First) bool {
			return a.At == b.At && a.Day == b.Day && a.Of == b.Of && slices.Equal(a.Features, b.Features)
		}
		if slices.EqualFunc(row, want, same) {
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("%+v has %d entries, want %d:\n%+v, want\n%+v", all[i], len(row), len(want), row[:min(3, len(row))], want[:min(3, len(want))])
		}
	}
	if wrong > 5 {
		t.Errorf("and %d more", wrong-5)
	}
}
