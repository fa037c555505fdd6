package intake

import (
	"container/heap"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// keysRoom is how many keys are remembered as known, about 30 MB of memory when full, and ownerRoom what an owner takes of it
// besides its keys.
const keysRoom, ownerRoom = 1 << 18, 4

// knownKeys remembers the keys of owners. When there is no room it forgets the oldest key of whoever has the most: one who
// makes up names pushes out its own, not another's. It is not safe for concurrent use.
type knownKeys struct {
	room   int
	used   int
	steps  int64
	owners map[string]*owner
	most   byKeys
}

// owner is whom keys belong to.
type owner struct {
	name  string
	keys  *simplelru.LRU[uint64, struct{}]
	began time.Time // of the minute in which
	fresh int       // keys were new

	step  int64 // when it had its last new key
	place int   // in byKeys
}

func newKnownKeys(room int) *knownKeys {
	return &knownKeys{room: room, owners: map[string]*owner{}}
}

// owner is nil for one that has no keys.
func (k *knownKeys) owner(name string) *owner { return k.owners[name] }

// newOwner is one that is remembered as soon as it has a key.
func (k *knownKeys) newOwner(name string) *owner {
	keys, err := simplelru.NewLRU[uint64, struct{}](k.room, nil) // never full: add makes room before
	if err != nil {
		panic(err) // the size is not positive
	}
	return &owner{name: name, keys: keys}
}

// has tells whether a key is known, which keeps it so.
func (o *owner) has(key uint64) bool {
	_, known := o.keys.Get(key)
	return known
}

// add remembers a key that is not known.
func (k *knownKeys) add(o *owner, key uint64) {
	k.steps++
	o.step = k.steps
	o.keys.Add(key, struct{}{})
	k.used++
	if k.owners[o.name] == nil {
		k.owners[o.name] = o
		k.used += ownerRoom
		heap.Push(&k.most, o)
	} else {
		heap.Fix(&k.most, o.place)
	}
	for k.used > k.room {
		k.forget(k.most[0])
	}
}

func (k *knownKeys) forget(o *owner) {
	o.keys.RemoveOldest()
	k.used--
	if o.keys.Len() > 0 {
		heap.Fix(&k.most, o.place)
		return
	}
	heap.Remove(&k.most, o.place)
	delete(k.owners, o.name)
	k.used -= ownerRoom
}

// byKeys is a heap of owners: the one with the most keys is first, and of several the one whose last new key is oldest.
type byKeys []*owner

func (h byKeys) Len() int { return len(h) }

func (h byKeys) Less(i, j int) bool {
	if a, b := h[i].keys.Len(), h[j].keys.Len(); a != b {
		return a > b
	}
	return h[i].step < h[j].step
}

func (h byKeys) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *byKeys) Push(x any) {
	o := x.(*owner)
	o.place = len(*h)
	*h = append(*h, o)
}

func (h *byKeys) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return o
}
