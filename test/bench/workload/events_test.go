package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
)

// TestTheSameEachTime: what was measured last year is only comparable if the events are the same.
func TestTheSameEachTime(t *testing.T) {
	for name, want := range map[string]string{"clicks": "eb9c471e4bdb16bd", "visits": "c61e72b0f12f8d35", "cold": "dc23b6be215120f7", "viral": "125e6cda104c97e9"} {
		i := slices.IndexFunc(All, func(w Workload) bool { return w.Name == name })
		if i < 0 {
			t.Errorf("there is no workload %s", name)
			continue
		}
		sum, n := sha256.New(), 0
		for events := range All[i].Pieces(1000) {
			for _, e := range events {
				sum.Write(Encode(e))
				n++
			}
		}
		if got := hex.EncodeToString(sum.Sum(nil)[:8]); n != 1000 || got != want {
			t.Errorf("%s: %d events of sum %s, want %s", name, n, got, want)
		}
	}
	if all, first := All[0].Uniques(1000, 300); first < 90 || all < 333 || all > 450 {
		t.Errorf("of 1000 clicks %d are a visitor's first, of the first 300 %d", all, first)
	}
}
