package cassandra

import (
	"testing"

	"footfall/consumer/store"
)

// Every token is in exactly one part, whatever the number of parts.
func TestPartsOfTheRing(t *testing.T) {
	for _, of := range []int{1, 2, 3, 7, 256, 1000} {
		next := ring.First
		for number := range of {
			r := tokensOf(store.Part{Number: number, Of: of})
			if r.First != next || r.Last < r.First {
				t.Fatalf("part %d of %d: %v, want it to begin at %d", number, of, r, next)
			}
			next = r.Last + 1 // overflows after the last
		}
		if next != ring.First {
			t.Errorf("%d parts end at %d", of, next-1)
		}
	}
}
