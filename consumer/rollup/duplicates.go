package rollup

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// fingerprint stands for a longer value in memory: 128 bits from two keyed hashes. Two values share one with a
// probability of 2^-128, and nobody who does not know this process's seeds can make it happen on purpose.
type fingerprint [2]uint64

// hasher makes fingerprints. They mean nothing to another process.
type hasher [2]maphash.Seed

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func fingerprintOf[T comparable](h hasher, value T) fingerprint {
	return fingerprint{maphash.Comparable(h[0], value), maphash.Comparable(h[1], value)}
}

// The rules by which a topic's duplicates are told, as they are recorded.
const (
	byVisitorAndID = "visitor and id"
	byIDAlone      = "id" // of all senders; topics that were counted before there was the other
)

const ruleOfDuplicates = "duplicates.by"

// identity is what a duplicate has in common with the event that it repeats, by the rule of its topic. Item must be an event.
func (it item) identity() models.Identity {
	if it.byID {
		return models.Identity{ID: it.event.EventID()}
	}
	return it.event.Identity()
}

// countedByID tells the rule of a topic, and records it: what was counted by one rule has to be repaired by it. It must be asked
// before anything else is recorded of a topic: of one that has other facts, but not this, the rule was the old one.
func countedByID(ctx context.Context, store store.Store, topic string) (bool, error) {
	name := fact(topic, ruleOfDuplicates)
	rule, err := store.Setting(ctx, name, "")
	if err != nil {
		return false, err
	}
	if rule == "" {
		counted, err := store.Setting(ctx, fact(topic, "partitions"), "")
		if err != nil {
			return false, err
		}
		rule = byVisitorAndID
		if counted != "" {
			rule = byIDAlone
		}
		if rule, err = store.Setting(ctx, name, rule); err != nil {
			return false, err
		}
	}
	if rule != byVisitorAndID && rule != byIDAlone {
		return false, fmt.Errorf("topic %s is counted with %s %q, a rule that this version does not know: use the version that has counted it",
			topic, ruleOfDuplicates, rule)
	}
	return rule == byIDAlone, nil
}

// window knows the event ids of the last offsets of one partition. It is a function of the log alone: read from the same
// offsets, any process decides alike which events are duplicates. Not safe for concurrent use.
type window struct {
	reach
	seen      trail[int64] // by offset: when an id occurred, in Unix nanoseconds
	inherited inherited    // from the generations before, while that is within reach
	next      int64        // the offset it is ready for
}

// reach is how far back an id is looked for. Both bounds must hold: the second one makes sure that the log still has what
// a decision needs, however slowly the log grows.
type reach struct {
	offsets int64
	age     time.Duration // by the times that the messages have in the log
}

// newWindow makes a window that is ready for the events from offset start on.
func newWindow(r reach, start int64) *window {
	return &window{reach: r, seen: newTrail[int64](r.offsets+1, start), next: start}
}

// pass moves on beyond an offset that holds no countable event.
func (w *window) pass(offset int64) { w.next = offset + 1 }

// see notes that id stands at offset, with that message's time, and tells whether it is a duplicate: whether it occurred
// before within reach. Offsets must grow from call to call; times need not.
func (w *window) see(id fingerprint, offset int64, at time.Time) bool {
	w.seen.moveTo(offset)
	before, _, duplicate := w.seen.find(id)
	if offset > w.offsets {
		w.inherited = nil
	}
	if !duplicate && w.inherited != nil {
		before, duplicate = w.inherited.find(id, offset, w.offsets)
	}
	duplicate = duplicate && at.UnixNano()-before <= int64(w.age)
	w.seen.put(id, at.UnixNano())
	w.next = offset + 1
	return duplicate
}
