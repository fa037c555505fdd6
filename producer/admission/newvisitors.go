package admission

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/models"
	"footfall/producer/answer"
)

// visitorsKept is how many visitors are remembered: 8 MB.
const visitorsKept = 1 << 20

// newVisitors limits how many new visitors of a site or of a link may appear in a minute. A sender can make them up, and each
// is a row in every interval, under every combination of features. Whether a visitor is new is decided from memory, as in
// newKeys. It is safe for concurrent use.
type newVisitors struct {
	perMinute           int
	sites, links, names maphash.Seed
	known               *visitorSet

	mu      sync.Mutex                      // guards writes to known, and minutes
	minutes *simplelru.LRU[uint64, *minute] // by site or link; one that is evicted starts a new minute, which only allows more
}

// limitNewVisitors returns nil, which limits nobody, for 0.
func limitNewVisitors(perMinute int) *newVisitors {
	if perMinute <= 0 {
		return nil
	}
	minutes, err := simplelru.NewLRU[uint64, *minute](rememberedRates, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &newVisitors{
		perMinute: perMinute, sites: maphash.MakeSeed(), links: maphash.MakeSeed(), names: maphash.MakeSeed(),
		known: newVisitorSet(visitorsKept), minutes: minutes,
	}
}

// lookahead is how many events are looked up together. Each lookup is a cache miss somewhere in 8 MB. Lookups that follow each
// other directly let the processor wait for several misses at once.
const lookahead = 32

// check returns an error for each event whose visitor is new although its site or link had enough new visitors in this minute.
// It returns nil if there is none. grant is the one that the events were sent under.
func (v *newVisitors) check(grant string, events []models.Event, now time.Time) (refused []error) {
	if v == nil {
		return nil
	}
	var owner, visitor [lookahead]uint64
	var known [lookahead]bool
	tag := maphash.String(v.names, grant) &^ visitorBits
	for from := 0; from < len(events); from += lookahead {
		some := events[from:min(from+lookahead, len(events))]
		for i, event := range some {
			owner[i], visitor[i] = v.hashes(event)
			visitor[i] = visitor[i]&visitorBits | tag
		}
		for i := range some {
			known[i] = v.known.isLatest(visitor[i])
		}
		for i := range some {
			if known[i] { // nearly always, and it takes no lock
				continue
			}
			if err := v.note(owner[i], visitor[i], now); err != nil {
				if refused == nil {
					refused = make([]error, len(events))
				}
				refused[from+i] = err
			}
		}
	}
	return refused
}

// note counts a visitor if it is new, or returns an error if its site or link had enough in this minute.
func (v *newVisitors) note(owner, visitor uint64, now time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known.has(visitor) {
		return nil
	}
	m, ok := v.minutes.Get(owner)
	if !ok {
		m = &minute{}
		v.minutes.Add(owner, m)
	}
	if !m.allows(v.perMinute, now) {
		return &answer.Refusal{Reason: answer.TooManyNewVisitors, Detail: "too many visitors of this site or link that were never seen before", After: m.ends(now)}
	}
	m.count++
	v.known.add(visitor)
	return nil
}

// hashes are those of an event's site or link, and of its visitor there. Without the seeds nobody can aim at a collision.
func (v *newVisitors) hashes(event models.Event) (owner, visitor uint64) {
	switch e := event.(type) {
	case *models.Visit:
		owner, visitor = maphash.String(v.sites, e.SiteID), maphash.String(v.names, e.GUID)
	case *models.Click:
		owner, visitor = maphash.String(v.links, e.ShortURL), maphash.String(v.names, e.IP)
	}
	return owner, owner ^ visitor
}

// ways is the associativity of a visitorSet: as many hashes as fit into a cache line.
const ways = 8

// visitorBits is the part of a hash that identifies the visitor. The other bits are a tag of the grant under which it was
// first seen; several grants may have the same tag.
const visitorBits = 1<<56 - 1

// visitorSet is a set-associative LRU of hashes. A new hash evicts from its line: of the grant with the most hashes there, the
// one least recently seen. So a grant that makes up visitors evicts its own, and each of n grants keeps at least an nth of the
// room. A hash takes eight bytes, a tenth of what a linked LRU takes. Only isLatest is safe for concurrent use.
type visitorSet struct{ lines [][ways]uint64 } // of each line the most recently seen first; 0 is free

// newVisitorSet has room for so many, a power of two.
func newVisitorSet(room int) *visitorSet { return &visitorSet{make([][ways]uint64, room/ways)} }

func (s *visitorSet) line(hash uint64) *[ways]uint64 { return &s.lines[hash&uint64(len(s.lines)-1)] }

// isLatest tells whether a hash is the most recently seen of its line. Then it is known, and nothing has to change. It needs no
// lock, because all others write the first of a line atomically.
func (s *visitorSet) isLatest(hash uint64) bool {
	return sameVisitor(atomic.LoadUint64(&s.line(hash)[0]), hash)
}

func sameVisitor(a, b uint64) bool { return (a^b)&visitorBits == 0 && a != 0 }

// has tells whether a hash is known, and makes it the most recently seen.
func (s *visitorSet) has(hash uint64) bool {
	line := s.line(hash)
	for i, h := range line {
		if sameVisitor(h, hash) {
			copy(line[1:i+1], line[:i])
			atomic.StoreUint64(&line[0], h)
			return true
		}
	}
	return false
}

// add remembers a hash that is not known.
func (s *visitorSet) add(hash uint64) {
	line := s.line(hash)
	i := victim(line, hash)
	copy(line[1:i+1], line[:i])
	atomic.StoreUint64(&line[0], hash)
}

// victim is the index that is evicted for a new hash. On a tie the new hash's own grant loses, because the new hash counts for it
// already.
func victim(line *[ways]uint64, hash uint64) int {
	if line[ways-1] == 0 {
		return ways - 1
	}
	found, most := 0, 0
	for i := ways - 1; i >= 0; i-- { // the least recently seen first
		n, own := 0, line[i]&^visitorBits == hash&^visitorBits
		for _, h := range line {
			if h&^visitorBits == line[i]&^visitorBits {
				n++
			}
		}
		if n *= 2; own { // counted in halves: one more for the new hash, and a half to lose ties
			n += 3
		}
		if n > most {
			found, most = i, n
		}
	}
	return found
}
