package intake

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/models"
	"footfall/producer/answer"
)

// visitorsRoom is how many visitors are remembered: 8 MB.
const visitorsRoom = 1 << 20

// newVisitors bounds how many visitors of a site, or of a link, a sender can make up: each is a row in every interval, under
// every combination of features. What is new is decided from memory, as it is for newKeys. It is safe for concurrent use.
type newVisitors struct {
	perMinute           int
	sites, links, names maphash.Seed
	known               *seen

	mu sync.Mutex                      // of what changes in known, and of
	of *simplelru.LRU[uint64, *minute] // by site or link; who is forgotten begins anew, which is only ever too kind
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
	return &newVisitors{
		perMinute: perMinute, sites: maphash.MakeSeed(), links: maphash.MakeSeed(), names: maphash.MakeSeed(), known: newSeen(visitorsRoom), of: of,
	}
}

// together is how many events are looked up at a time. Where a visitor is remembered is anywhere in megabytes, so that each costs
// a wait for the memory; a processor waits for several of them at once if it is told them one right after the other.
const together = 32

// note refuses those events, sent under a grant, that are of a new visitor though their site or link had too many. Those that have an
// error already are left alone.
func (v *newVisitors) note(grant string, drafts []draft, outcomes []outcome, now time.Time) {
	if v == nil {
		return
	}
	var whose, visitor [together]uint64
	var known [together]bool
	mine := maphash.String(v.names, grant) &^ whoOnly
	for from := 0; from < len(drafts); from += together {
		some, became := drafts[from:min(from+together, len(drafts))], outcomes[from:]
		for i := range some {
			if became[i].err == nil {
				whose[i], visitor[i] = v.hashes(some[i].event)
				visitor[i] = visitor[i]&whoOnly | mine
			}
		}
		for i := range some {
			known[i] = v.known.latest(visitor[i])
		}
		for i := range some {
			if known[i] || became[i].err != nil { // as nearly all are, so that nobody has to wait for another
				continue
			}
			if err := v.one(whose[i], visitor[i], now); err != nil {
				became[i] = outcome{err: err}
			}
		}
	}
}

// one is note for one event.
func (v *newVisitors) one(whose, visitor uint64, now time.Time) error {
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
		return &answer.Refusal{Reason: answer.TooManyNewVisitors, Detail: "too many visitors of this site or link that were never seen before", After: m.ends(now)}
	}
	m.fresh++
	v.known.add(visitor)
	return nil
}

// hashes are those of an event's site or link, and of its visitor there.
func (v *newVisitors) hashes(event models.Event) (whose, visitor uint64) {
	switch e := event.(type) {
	case *models.Visit:
		whose, visitor = maphash.String(v.sites, e.SiteID), maphash.String(v.names, e.GUID)
	case *models.Click:
		whose, visitor = maphash.String(v.links, e.ShortURL), maphash.String(v.names, e.IP)
	}
	return whose, whose ^ visitor // which nobody can aim at without the seeds
}

// ways is how many visitors share a place: what fits into a line of the processor's cache.
const ways = 8

// whoOnly is the part of a hash that says who it is. The rest says under which grant it was seen first; some grants have the same.
const whoOnly = 1<<56 - 1

// seen remembers hashes, eight to a place. A new one pushes out, of the grant that has the most in its place, the one that was not seen
// for longest: one who makes up visitors pushes out its own, and each of n grants keeps an nth of the room at the least. It takes
// eight bytes for each, a tenth of what a list in order takes. It is not safe for concurrent use, but for latest.
type seen struct{ places [][ways]uint64 }

// newSeen has room for so many, a power of two.
func newSeen(room int) *seen { return &seen{make([][ways]uint64, room/ways)} }

func (s *seen) place(hash uint64) *[ways]uint64 { return &s.places[hash&uint64(len(s.places)-1)] }

// latest tells whether a hash is the one of its place that was seen last. Then it is known, and there is nothing to change. It
// needs no lock: all others change the first of a place under one, and in one step.
func (s *seen) latest(hash uint64) bool {
	return same(atomic.LoadUint64(&s.place(hash)[0]), hash)
}

// same tells whether two hashes are of the same visitor; 0 is nobody's.
func same(a, b uint64) bool { return (a^b)&whoOnly == 0 && a != 0 }

// has tells whether a hash is known, and keeps it so.
func (s *seen) has(hash uint64) bool {
	p := s.place(hash)
	for i, h := range p {
		if same(h, hash) {
			copy(p[1:i+1], p[:i])
			atomic.StoreUint64(&p[0], h)
			return true
		}
	}
	return false
}

// add remembers a hash that is not known.
func (s *seen) add(hash uint64) {
	p := s.place(hash)
	i := leaver(p, hash)
	copy(p[1:i+1], p[:i])
	atomic.StoreUint64(&p[0], hash)
}

// leaver is who makes room in a place for a new one. Its own grant, which counts it already, goes before others that have as many.
func leaver(p *[ways]uint64, hash uint64) int {
	if p[ways-1] == 0 {
		return ways - 1
	}
	leaves, most := 0, 0
	for i := ways - 1; i >= 0; i-- { // those that were not seen for longest first
		of, mine := 0, p[i]&^whoOnly == hash&^whoOnly
		for _, h := range p {
			if h&^whoOnly == p[i]&^whoOnly {
				of++
			}
		}
		if of *= 2; mine { // halves, so that nobody else has as many
			of += 3
		}
		if of > most {
			leaves, most = i, of
		}
	}
	return leaves
}
