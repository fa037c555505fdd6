package e2e

import (
	"testing"

	"footfall/test/e2e/broker"
	"footfall/test/e2e/load"
)

// What cannot be counted is put aside with its reason and origin. It is not counted, and it holds nobody up.
func TestDeadLetters(t *testing.T) {
	d := newReal(t, 1)
	visits := d.Topics[1]
	const n = 400
	before, after := load.Make(7, n), load.Make(8, n)
	want, _ := send(t, d, before, load.Order(7, n), nil)

	ends, err := d.Ends(t.Context(), visits)
	if err != nil {
		t.Fatal(err)
	}
	all := broker.Letters(len(ends))
	origin, err := d.Litter(t.Context(), visits, all, len(ends))
	if err != nil {
		t.Fatal(err)
	}
	send(t, d, after, load.Order(8, n), nil)
	for _, e := range after {
		e.Tell(want)
	}
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))

	dead, err := d.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range all {
		m, ok := dead[origin[i]]
		if !ok {
			t.Errorf("%s: no dead letter from %s", g.Name, origin[i])
			continue
		}
		if wrong := g.Check(m); wrong != "" {
			t.Errorf("%s: %s", g.Name, wrong)
		}
	}
	if len(dead) != len(all) {
		t.Errorf("%d dead letters, want %d", len(dead), len(all))
	}
}
