package e2e

import (
	"testing"

	"footfall/test/e2e/broker"
	"footfall/test/e2e/load"
)

// Messages that cannot be counted become dead letters with their reason and origin. They do not hold up other events.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
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
	for _, wrong := range broker.Check(all, origin, dead) {
		t.Error(wrong)
	}
	if len(dead) != len(all) {
		t.Errorf("%d dead letters, want %d", len(dead), len(all))
	}
}
