package intake

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/models"
)

// visitorsRoom is how many visitors are remembered: 8 MB.
const visitorsRoom = 1 << 20

// newVisitors bounds how many visitors of a site, or of a link, a sender can make up: each is a row in every interval, under
// every combination of features. What is new is decided from memory, as it is for newKeys. It is safe for concurrent use.
type newVisitors struct {
	perMinute int
	seed      maphash.Seed

	mu    sync.Mutex
	known *seen
	of    *simplelru.LRU[uint64, *minute] // by site or link; who is forgotten begins anew, which is only ever too kind
}

// watchNewVisitors returns nil, which limits nobody, for 0.
func watchNewVisitors(perMinute int) *newVisitors {
	if perMinute <= 0 {
		return nil
	}
	of, err := simplelru.NewLRU[uint64, *minute](remembered, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &newVisitors{perMinute: perMinute, seed: maphash.MakeSeed(), known: newSeen(visitorsRoom), of: of}
}

// note returns an error if the event is of a new visitor and its site or link had too many.
func (v *newVisitors) note(event models.Event, now time.Time) error {
	if v == nil {
		return nil
	}
	whose, visitor := v.hashes(event)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known.has(visitor) {
		return nil
	}
	m, ok := v.of.Get(whose)
	if !ok {
		m = &minute{}
		v.of.Add(whose, m)
	}
	if !m.room(v.perMinute, now) {
		return &refusal{reason: tooManyNewVisitors, detail: "too many visitors of this site or link that were never seen before", after: m.ends(now)}
	}
	m.fresh++
	v.known.add(visitor)
	return nil
}

// hashes are those of an event's site or link, and of its visitor there.
func (v *newVisitors) hashes(event models.Event) (whose, visitor uint64) {
	var kind, name, who string
	switch e := event.(type) {
	case *models.Visit:
		kind, name, who = "site\x00", e.SiteID, e.GUID
	case *models.Click:
		kind, name, who = "link\x00", e.ShortURL, e.IP
	}
	var h maphash.Hash
	h.SetSeed(v.seed)
	_, _ = h.WriteString(kind) // never fails
	_, _ = h.WriteString(name)
	whose = h.Sum64()
	_ = h.WriteByte(0)
	_, _ = h.WriteString(who)
	return whose, h.Sum64()
}

// ways is how many visitors share a place: what fits into a line of the processor's cache.
const ways = 8

// seen remembers hashes, eight to a place. A new one pushes out the one of its place that was not seen for longest. It takes
// eight bytes for each, a tenth of what a list in order takes. It is not safe for concurrent use.
type seen struct{ places [][ways]uint64 }

// newSeen has room for so many, a power of two.
func newSeen(room int) *seen { return &seen{make([][ways]uint64, room/ways)} }

func (s *seen) place(hash uint64) *[ways]uint64 { return &s.places[hash%uint64(len(s.places))] }

// has tells whether a hash is known, and keeps it so.
func (s *seen) has(hash uint64) bool {
	p := s.place(hash)
	for i, h := range p {
		if h == hash && h != 0 {
			copy(p[1:i+1], p[:i])
			p[0] = hash
			return true
		}
	}
	return false
}

// add remembers a hash that is not known.
func (s *seen) add(hash uint64) {
	p := s.place(hash)
	copy(p[1:], p[:ways-1])
	p[0] = hash
}
