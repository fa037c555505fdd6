package intake

import (
	"container/heap"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// knownKeys remembers keys, each with something of its own, by grant. When there is no room it forgets what was not seen for
// longest of the grant that has the most: one who makes up names pushes out its own, not another's, and whoever has no more
// than its share of the room loses nothing. Grants are never forgotten: the configuration says how many there are. It is not
// safe for concurrent use.
type knownKeys[V any] struct {
	room   int
	used   int
	grants map[string]*keysOf[V]
	most   byKeys[V]
}

// keysOf are the keys of a grant.
type keysOf[V any] struct {
	keys  *simplelru.LRU[uint64, V]
	place int // in byKeys
}

func newKnownKeys[V any](room int) *knownKeys[V] {
	return &knownKeys[V]{room: room, grants: map[string]*keysOf[V]{}}
}

// get finds a key, which keeps it known.
func (k *knownKeys[V]) get(grant string, key uint64) (value V, known bool) {
	if of := k.grants[grant]; of != nil {
		return of.keys.Get(key)
	}
	return value, false
}

// add remembers a key that is not known.
func (k *knownKeys[V]) add(grant string, key uint64, value V) {
	of := k.grants[grant]
	if of == nil {
		keys, err := simplelru.NewLRU[uint64, V](k.room+1, nil) // never full: there is less room for all together
		if err != nil {
			panic(err) // the size is not positive
		}
		of = &keysOf[V]{keys: keys}
		k.grants[grant] = of
		heap.Push(&k.most, of)
	}
	of.keys.Add(key, value)
	heap.Fix(&k.most, of.place)
	k.used++
	if k.used > k.room {
		k.most[0].keys.RemoveOldest()
		heap.Fix(&k.most, 0)
		k.used--
	}
}

// byKeys is a heap: whoever has the most keys is first.
type byKeys[V any] []*keysOf[V]

func (h byKeys[V]) Len() int           { return len(h) }
func (h byKeys[V]) Less(i, j int) bool { return h[i].keys.Len() > h[j].keys.Len() }

func (h byKeys[V]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *byKeys[V]) Push(x any) {
	of := x.(*keysOf[V])
	of.place = len(*h)
	*h = append(*h, of)
}

// Pop is for heap.Interface alone: nobody leaves.
func (h *byKeys[V]) Pop() any {
	last := len(*h) - 1
	of := (*h)[last]
	*h = (*h)[:last]
	return of
}
