package cassandra

import (
	"fmt"
	"slices"
	"testing"

	"footfall/internal/cql"
	"footfall/models"
	"footfall/reader/stats"
)

func TestRequestsDifferInOneColumn(t *testing.T) {
	var keys []stats.SiteKey
	for i := range 130 {
		for _, from := range []string{"google.com", "bing.com"} {
			for month := range models.Millis(2) {
				keys = append(keys, stats.SiteKey{Site: "s", Month: month, Features: []string{from, fmt.Sprint(i)}})
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
			tokens = append(tokens, cql.Token(routingKey(keys[i])))
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
	site := func(site string, features ...string) stats.SiteKey {
		return stats.SiteKey{Site: site, Features: features}
	}
	key := func(features ...string) stats.SiteKey { return site("s", features...) }
	for want, keys := range [][]stats.SiteKey{
		{site("s", "a", "b", "c"), site("t", "a", "b", "c"), site("t", "x", "b", "c")},
		{key("a", "b", "c"), key("x", "b", "c")},
		{key("a", "b", "c"), key("a", "x", "c"), key("a", "x", "z")},
		{key("a", "b", "c"), key("a", "b", "c"), key("a", "b", "")},
	} {
		if got := varying(keys); got != want {
			t.Errorf("%v: %d, want %d", keys, got, want)
		}
	}
	if varying(nil) != 0 || varying([]stats.SiteKey{key("a", "b")}) != 0 {
		t.Error("of none or one: want the first")
	}
}
