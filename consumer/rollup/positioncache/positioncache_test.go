package positioncache

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/models"
)

func key(n int) models.Key { return models.Key{Keyspace: models.URLShortener, Name: fmt.Sprint(n)} }

func partition(n int) models.Partition { return models.Partition{Topic: "visits", Number: n} }

// Whatever is put, used, removed and forgotten: a key that the cache knows has exactly the positions that were put last, and a cache that does
// not know a key says that it forgot, unless the key was never put or was removed since.
func TestAgainstAMap(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		size, keys := 1+rnd.IntN(40), 1+rnd.IntN(40)
		c, model, known := New(eventlog.NewHasher(), size), map[int][]Position{}, 0
		for step := range 2000 {
			n := rnd.IntN(keys)
			switch rnd.IntN(20) {
			case 0:
				c.Remove(key(n))
				delete(model, n)
			case 1:
				if rnd.IntN(30) == 0 {
					c.Purge()
					clear(model)
				}
			case 2, 3, 4, 5, 6, 7, 8:
				var all []Position
				for _, number := range rnd.Perm(12)[:rnd.IntN(13)] {
					all = append(all, Position{partition(number), rnd.Int64N(1 << 48), rnd.Int64N(40)})
				}
				c.Put(key(n), all)
				model[n] = all
			}
			got, ok := c.Append([]Position{{To: 77}}, key(n))
			want, there := model[n]
			switch {
			case ok && !there:
				t.Fatalf("seed %d, step %d: key %d is known with %v, but it is not there", seed, step, n, got)
			case ok && (got[0].To != 77 || !slices.Equal(got[1:], want)):
				t.Fatalf("seed %d, step %d: key %d is at\n%v, want\n%v", seed, step, n, got, want)
			case !ok && there && !c.Forgot:
				t.Fatalf("seed %d, step %d: key %d is not known, and nothing was forgotten", seed, step, n)
			case !ok && len(got) != 1:
				t.Fatalf("seed %d, step %d: key %d is not known, but has %v", seed, step, n, got)
			case ok:
				known++
			}
			if len(c.young) > c.most || len(c.old) > c.most {
				t.Fatalf("seed %d, step %d: %d and %d entries, want at most %d", seed, step, len(c.young), len(c.old), c.most)
			}
		}
		if known == 0 && size > 10 {
			t.Errorf("seed %d: a cache of %d knew none of %d keys", seed, size, keys)
		}
	}
}

// The cache forgets nothing before it is full, and then what was used longest ago.
func TestForgetsWhatWasUsedLongestAgo(t *testing.T) {
	c := New(eventlog.NewHasher(), 100)
	put := func(from, to int) {
		for n := from; n < to; n++ {
			c.Put(key(n), []Position{{partition(0), int64(n), 7}})
		}
	}
	known := func(n int) bool {
		_, ok := c.Append(nil, key(n))
		return ok
	}
	put(0, 100)
	if c.Forgot || !known(0) {
		t.Fatal("it forgets before it is full")
	}
	put(100, 140) // 0 was used last
	if !c.Forgot || !known(0) || known(1) || !known(99) {
		t.Errorf("forgot %v; knows 0: %v, 1: %v, 99: %v", c.Forgot, known(0), known(1), known(99))
	}
}

// What does not fit into a packed position is not remembered, and the cache says so.
func TestPositionsThatDoNotFit(t *testing.T) {
	for _, to := range []int64{-1, 1 << 48} {
		c := New(eventlog.NewHasher(), 100)
		c.Put(key(1), []Position{{partition(0), 5, 7}})
		c.Put(key(1), []Position{{partition(0), to, 7}})
		if got, ok := c.Append(nil, key(1)); ok || !c.Forgot {
			t.Errorf("%d: known %v as %v, forgot %v", to, ok, got, c.Forgot)
		}
	}
	c := New(eventlog.NewHasher(), 100)
	for epoch := range int64(100_000) { // more than there are numbers for
		want := []Position{{partition(0), 1<<48 - 1, epoch}, {partition(1), 0, 0}}
		c.Put(key(1), want)
		if got, ok := c.Append(nil, key(1)); !ok || !slices.Equal(got, want) {
			t.Fatalf("%v, %v; want %v", got, ok, want)
		}
	}
	if !c.Forgot {
		t.Error("the cache began anew, but says that it forgot nothing")
	}
}

// How much memory a key takes: go test ./consumer/rollup/positioncache -run '^$' -bench Memory -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	const size = 800_000 // the default
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := New(eventlog.NewHasher(), size)
		all := make([]Position, 0, 4)
		for n := range 2 * size {
			all = all[:0]
			for p := range 1 + n%4 {
				all = append(all, Position{partition(p), int64(n), 7})
			}
			c.Put(key(n), all)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/size, "B/entry")
		runtime.KeepAlive(c)
	}
}
