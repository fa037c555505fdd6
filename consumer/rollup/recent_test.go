package rollup

import (
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/models"
)

// It does what the library's does, which takes twice the memory.
func TestRecentIsAnLRU(t *testing.T) {
	for _, size := range []int{1, 2, 7, 100, page - 1, page + 1} {
		r, want := newRecent(size), must(simplelru.NewLRU[fingerprint, models.Position](size, nil))
		rnd := rand.New(rand.NewPCG(uint64(size), 3))
		for step := range 40_000 {
			id := fingerprint{uint64(rnd.IntN(2 * size)), 7}
			at := models.Position{Topic: "t", Partition: rnd.IntN(5), Offset: int64(step)}
			if rnd.IntN(2) == 0 {
				r.add(id, at)
				want.Add(id, at)
				continue
			}
			got, known := r.get(id)
			if expected, ok := want.Get(id); got != expected || known != ok {
				t.Fatalf("size %d, step %d: got %v %v, want %v %v", size, step, got, known, expected, ok)
			}
		}
		r.purge()
		if _, known := r.get(fingerprint{0, 7}); known || len(r.index) != 0 {
			t.Errorf("size %d: something is remembered after a purge", size)
		}
	}
}

func TestRecentOfNobody(t *testing.T) {
	r := newRecent(0)
	r.add(fingerprint{1, 2}, models.Position{})
	if _, known := r.get(fingerprint{1, 2}); known {
		t.Error("somebody is remembered where there is no room")
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
