package cassandra

import (
	"fmt"
	"slices"
	"testing"

	"footfall/models"
)

func TestRequestsDifferInOneColumn(t *testing.T) {
	var keys []rankedKey
	for i := range 130 {
		for _, from := range []string{"google.com", "bing.com"} {
			for month := range models.Millis(2) {
				keys = append(keys, newRankedKey(models.SiteKey("s", month, from, fmt.Sprint(i))))
			}
		}
	}
	column := varying(keys)
	seen := map[int]bool{}
	for _, request := range requests(keys, column) {
		if len(request) == 0 || len(request) > rankedTogether {
			t.Errorf("%d keys in a request", len(request))
		}
		var tokens []int64
		for _, i := range request {
			if seen[i] {
				t.Errorf("key %d twice", i)
			}
			seen[i] = true
			tokens = append(tokens, keys[i].token)
			if compareRest(keys[i], keys[request[0]], column) != 0 {
				t.Errorf("%v with %v", keys[i], keys[request[0]])
			}
		}
		if !slices.IsSorted(tokens) {
			t.Errorf("not in the order of the ring: %v", tokens)
		}
	}
	if len(seen) != len(keys) {
		t.Errorf("%d keys, want %d", len(seen), len(keys))
	}
}

func TestVarying(t *testing.T) {
	site := func(site string, features ...string) rankedKey {
		return newRankedKey(models.SiteKey(site, 0, features...))
	}
	key := func(features ...string) rankedKey { return site("s", features...) }
	for want, keys := range map[int][]rankedKey{
		0: {site("s", "a", "b", "c"), site("t", "a", "b", "c"), site("t", "x", "b", "c")},
		2: {key("a", "b", "c"), key("x", "b", "c")},
		3: {key("a", "b", "c"), key("a", "x", "c"), key("a", "x", "z")},
		4: {key("a", "b", "c"), key("a", "b", "c"), key("a", "b", "")},
	} {
		if got := varying(keys); got != want {
			t.Errorf("%v: %d, want %d", keys, got, want)
		}
	}
	if varying(nil) != 0 || varying([]rankedKey{key("a", "b")}) != 0 {
		t.Error("of none or one: want the first")
	}
}
