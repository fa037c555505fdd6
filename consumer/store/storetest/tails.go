package storetest

import (
	"testing"

	"footfall/consumer/store"
	"footfall/models"
)

// testTails: the last tail that was noted is kept, for each partition apart.
func testTails(t *testing.T, s *suite) {
	f := func(p models.Partition, want store.Tail) {
		t.Helper()
		if got, err := s.store.Tail(t.Context(), p); err != nil || got != want {
			t.Errorf("Tail of %v is %+v, %v; want %+v", p, got, err, want)
		}
	}
	p := partition()
	sibling, namesake := p, p
	sibling.Number++
	namesake.Topic += "x"
	f(p, store.Tail{})
	for _, tail := range []store.Tail{{Offset: 7, Sum: "0af1"}, {Offset: 5_000_000_000_000, Sum: "ff"}, {Offset: 6, Sum: "00"}} {
		if err := s.store.NoteTail(t.Context(), p, tail); err != nil {
			t.Fatal(err)
		}
		f(p, tail)
	}
	f(sibling, store.Tail{})
	f(namesake, store.Tail{})
}
