package rollup

import (
	"context"
	"time"

	"footfall/models"
)

// An event whose first attempt landed in the last offsets of a generation, and whose second went to the next one, is a duplicate as it
// would be in one partition. So a partition's window begins with what the generations before had last of its visitors.

// inherited is the events that a partition's window begins with, by identity: the latest of each.
type inherited map[fingerprint]heirloom

// heirloom is one of them, as if it stood before the partition's first offset.
type heirloom struct {
	distance int64 // from there to offset 0
	at       int64 // its message's time, in Unix nanoseconds
}

// find is the time of an event, if it is within reach of an offset.
func (in inherited) find(id fingerprint, offset, reach int64) (at int64, found bool) {
	h, found := in[id]
	return h.at, found && offset+h.distance <= reach
}

// bequest is what partitions of a generation inherit.
type bequest struct {
	to map[int]inherited // by partition
	// missing is the time of the last message that could not be read; zero: all could, as far as they matter.
	missing time.Time
}

// inherit reads what these partitions of a generation inherit. It is a function of the log and the seals.
func inherit(ctx context.Context, log logReader, heir *source, partitions []int, h hasher, r reach) (bequest, error) {
	b := bequest{to: map[int]inherited{}}
	for _, n := range partitions {
		b.to[n] = inherited{}
	}
	for from := heir.before; from != nil && reachable(heir, from, r); from = from.before {
		for n := range from.partitions() {
			p, end := models.Partition{Topic: from.topic, Number: n}, from.seal.Ends[n]
			var first time.Time
			want := span{max(0, end-r.offsets), end}
			got, err := log.read(ctx, p, want, reach{}, func(it item) {
				if first.IsZero() {
					first = it.at
				}
				b.add(heir, from, it, h, r)
			})
			switch {
			case unreadable(err): // it was deleted
				b.lacks(from.seal.At)
			case err != nil:
				return b, err
			case got.from > want.from && got.empty():
				b.lacks(from.seal.At)
			case got.from > want.from:
				b.lacks(first)
			}
		}
	}
	return b, nil
}

// lacks notes that messages up to a time could not be read.
func (b *bequest) lacks(until time.Time) {
	if until.After(b.missing) {
		b.missing = until
	}
}

// whole tells whether all that is within reach of a message of that time could be read.
func (b *bequest) whole(at time.Time, age time.Duration) bool {
	return b.missing.IsZero() || at.Sub(b.missing) > age+clockSkew
}

// reachable tells whether anything of a generation may be within reach of the heir's offset 0.
func reachable(heir, from *source, r reach) bool {
	for s := heir.before; s != from; s = s.before {
		shortest := r.offsets
		for n := range s.partitions() {
			shortest = min(shortest, s.seal.Ends[n])
		}
		if shortest >= r.offsets {
			return false
		}
	}
	return true
}

// add notes an event of an earlier generation.
func (b *bequest) add(heir, from *source, it item, h hasher, r reach) {
	if it.event == nil {
		return
	}
	key := []byte(it.event.KafkaKey())
	to, wanted := b.to[partitionOf(key, heir.inspect.partitions)]
	if !wanted {
		return
	}
	distance := from.seal.Ends[it.partition.Number] - it.offset
	for s := heir.before; s != from; s = s.before {
		distance += s.seal.Ends[partitionOf(key, s.inspect.partitions)]
	}
	if distance > r.offsets {
		return
	}
	it.byID = heir.inspect.byID
	id := fingerprintOf(h, it.identity())
	if known, ok := to[id]; !ok || distance < known.distance {
		to[id] = heirloom{distance, it.at.UnixNano()}
	}
}
