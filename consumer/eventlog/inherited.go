package eventlog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"footfall/models"
)

// A producer may write an event to the last offsets of a generation, and its retry to the next generation. The retry is a duplicate, as it
// would be in one partition. So a partition's window begins with the last ids that the generations before had of its visitors.

// Inherited is what a partition's window begins with: the latest event of each identity, by fingerprint. A map would take twice the memory.
type Inherited []inheritedEvent

// inheritedEvent is placed as if it stood before the partition's first offset.
type inheritedEvent struct {
	id       Fingerprint
	distance int64 // from there to offset 0
	at       int64 // its message's time, in Unix nanoseconds
}

// find returns the time of an inherited event, if it is within reach of an offset.
func (in Inherited) find(id Fingerprint, offset, reach int64) (at int64, found bool) {
	i, found := slices.BinarySearchFunc(in, id, func(e inheritedEvent, id Fingerprint) int { return slices.Compare(e.id[:], id[:]) })
	if !found || offset+in[i].distance > reach {
		return 0, false
	}
	return in[i].at, true
}

// sorted returns the latest event of each identity by fingerprint, and no room for more.
func (in Inherited) sorted() Inherited {
	slices.SortFunc(in, func(a, b inheritedEvent) int {
		return cmp.Or(slices.Compare(a.id[:], b.id[:]), cmp.Compare(a.distance, b.distance))
	})
	in = slices.CompactFunc(in, func(a, b inheritedEvent) bool { return a.id == b.id })
	return append(make(Inherited, 0, len(in)), in...)
}

// Bequest is what the partitions of a generation inherit.
type Bequest struct {
	To map[int]Inherited // by partition
	// missing is the time of the latest message within reach that Kafka has deleted; zero: none is missing.
	missing time.Time
}

// Inherit reads what these partitions of a generation inherit. The result depends on the log and the seals alone.
func Inherit(ctx context.Context, log Reader, heir *Source, partitions []int, h Hasher, r Reach) (Bequest, error) {
	b := Bequest{To: map[int]Inherited{}}
	for _, n := range partitions {
		b.To[n] = Inherited{}
	}
	for from := heir.Before; from != nil && reachable(heir, from, r); from = from.Before {
		for n := range from.Partitions() {
			p, end := models.Partition{Topic: from.Topic, Number: n}, from.Seal.Ends[n]
			var first time.Time
			want := Span{max(0, end-r.Offsets), end}
			got, err := log.Read(ctx, p, want, Reach{}, func(it Item) {
				if first.IsZero() {
					first = it.At
				}
				b.add(heir, from, it, h, r)
			})
			switch {
			case IsRefusal(err): // it was deleted
				b.lacks(from.Seal.At)
			case err != nil:
				return b, err
			case got.From > want.From && got.Empty():
				b.lacks(from.Seal.At)
			case got.From > want.From:
				b.lacks(first)
			}
		}
	}
	for n, ids := range b.To {
		b.To[n] = ids.sorted()
	}
	return b, nil
}

// lacks notes that Kafka has deleted messages up to a time.
func (b *Bequest) lacks(until time.Time) {
	if until.After(b.missing) {
		b.missing = until
	}
}

// Whole tells whether all ids within reach of a message of that time could be read.
func (b *Bequest) Whole(at time.Time, age time.Duration) bool {
	return b.missing.IsZero() || at.Sub(b.missing) > age+clockSkew
}

// reachable tells whether an event of the generation from may be within reach of the heir's offset 0.
func reachable(heir, from *Source, r Reach) bool {
	for s := heir.Before; s != from; s = s.Before {
		shortest := r.Offsets
		for n := range s.Partitions() {
			shortest = min(shortest, s.Seal.Ends[n])
		}
		if shortest >= r.Offsets {
			return false
		}
	}
	return true
}

// add notes an event of an earlier generation.
func (b *Bequest) add(heir, from *Source, it Item, h Hasher, r Reach) {
	if it.Event == nil {
		return
	}
	key := []byte(it.Event.KafkaKey())
	n := PartitionOf(key, heir.Inspect.Partitions)
	to, wanted := b.To[n]
	if !wanted {
		return
	}
	distance := from.Seal.Ends[it.Partition.Number] - it.Offset
	for s := heir.Before; s != from; s = s.Before {
		distance += s.Seal.Ends[PartitionOf(key, s.Inspect.Partitions)]
	}
	if distance > r.Offsets {
		return
	}
	b.To[n] = append(to, inheritedEvent{FingerprintOf(h, it.Event.Identity()), distance, it.At.UnixNano()})
}
