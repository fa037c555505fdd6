package models

import (
	"reflect"
	"testing"
)

func TestWays(t *testing.T) {
	f := func(of Ways, want string) {
		t.Helper()
		got := of.text()
		if back, ok := readWays(got); got != want || !ok || back != of {
			t.Errorf("%v is %q, want %q; read as %v, %v", of, got, want, back, ok)
		}
	}
	f(Ways{15, 15, 15}, "month:f week:f day:f")
	f(Ways{0, 1, 0}, "week:1")
	f(Ways{0xc, 0, 0x8000000000000001}, "month:c day:8000000000000001")
	for _, text := range []string{"", " ", "month", "month:", "month:f  day:f", "Month:f", "month:-1", "month:10000000000000000", "month:0x1", "f.f.f"} {
		if of, ok := readWays(text); ok {
			t.Errorf("%q is read as %v", text, of)
		}
	}
}

// An entry is read as it was written.
func TestEntries(t *testing.T) {
	first := First{
		At: Position{Topic: "visits", Partition: 3, Offset: 1 << 40}, Day: Earliest.Day(), Features: []string{"", "'/"}, Of: Ways{1, 2, 3},
	}
	if got, ok := ReadFirst(first.At, first.Seen(), 2); !ok || !reflect.DeepEqual(got, first) {
		t.Errorf("%+v is read as %+v, %v", first, got, ok)
	}
	if got, ok := ReadFirst(Position{}, first.Seen(), 2); !ok || got.At.Offset >= 0 {
		t.Errorf("an entry without a position is read as %+v, %v; want one of no event", got, ok)
	}
	for _, features := range []int{1, 3} {
		if got, ok := ReadFirst(first.At, first.Seen(), features); ok {
			t.Errorf("an entry of two features is read as %+v, of %d", got, features)
		}
	}
}
