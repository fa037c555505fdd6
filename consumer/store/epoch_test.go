package store

import (
	"testing"
	"time"
)

// Epochs grow, and two that follow the same epoch differ.
func TestEpochsGrowAndAreUnique(t *testing.T) {
	far := time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{time.Unix(0, 0), time.Now(), far} {
		for _, last := range []int64{0, NextEpoch(0, now), NextEpoch(7<<epochBits, now), NextEpoch(1<<epochBits, far)} {
			seen := map[int64]bool{}
			for range 3 {
				next := NextEpoch(last, now)
				if next <= last || seen[next] {
					t.Errorf("after %d comes %d, again: %t", last, next, seen[next])
				}
				seen[next] = true
				if first := IsFirstEpoch(next); first != (last == 0) {
					t.Errorf("after %d comes %d, taken for the first: %t", last, next, first)
				}
			}
		}
	}
}
