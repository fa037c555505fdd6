package rollup

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// leaver is an owner that has committed a chunk, so that it may leave the next one. Its group waits from now on.
func leaver(t *testing.T, m *memstore.Memory) *ownership {
	t.Helper()
	o := newOwner(t, m, 100)
	if err := o.countChunk(t.Context(), chunkOf(o, p0, "a"), committed); err != nil {
		t.Fatal(err)
	}
	o.groupWaits = func() bool { return true }
	return o
}

// successor is the next owner, where the group has these offsets.
func successor(t *testing.T, m *memstore.Memory, at map[models.Partition]int64) *ownership {
	t.Helper()
	o := newOwner(t, m, 100)
	for p, own := range o.partitions {
		own.next = at[p]
		own.window = eventlog.NewWindow(eventlog.Reach{Offsets: 100, Age: time.Hour}, own.next)
	}
	return o
}

func offsets(o *ownership) map[models.Partition]int64 {
	at := map[models.Partition]int64{}
	for p, place := range o.places() {
		at[p] = place.Offset
	}
	return at
}

// wantLinks wants one click of each link, and one ledger row: epochs stay the same if all owners left clean.
func wantLinks(t *testing.T, m *memstore.Memory, links int) {
	t.Helper()
	for i := range links {
		key := models.Key{Keyspace: models.URLShortener, Name: fmt.Sprint("link", i)}
		if got := m.Counters[key][hit]; got != 1 {
			t.Errorf("link%d has %d clicks, want 1", i, got)
		}
		if rows := m.LedgerRows[key]; len(rows) != 1 {
			t.Errorf("link%d has ledger rows %v, want one", i, rows)
		}
	}
}

// A chunk of many keys is left when the group waits. The next owner writes the keys that are missing, and no other, under the same epoch.
func TestALargeChunkIsLeftToTheNextOwner(t *testing.T) {
	const links = 20
	m := memstore.New()
	o := leaver(t, m)
	before := m.Writes
	if err := o.countChunk(t.Context(), linksIn(o, links), committed); !errors.Is(err, errLeft) {
		t.Fatalf("%v, want that it is left", err)
	}
	if written := m.Writes - before; written != o.keysAtOnce {
		t.Errorf("wrote %d keys, want the first %d", written, o.keysAtOnce)
	}
	if at := offsets(o); at[p0] != 1 {
		t.Errorf("ready to commit %v, want nothing of the chunk", at)
	}
	if err := o.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := successor(t, m, offsets(o))
	if next.partitions[p0].tenure.Epoch != o.partitions[p0].tenure.Epoch {
		t.Error("the next owner has another epoch: the first did not leave clean")
	}
	before = m.Writes
	flush(t, next, linksIn(next, links))
	if written := m.Writes - before; written != links-o.keysAtOnce {
		t.Errorf("the next owner wrote %d keys, want the other %d", written, links-o.keysAtOnce)
	}
	wantLinks(t, m, links)
	if len(m.OpenDoubts[p0]) > 0 {
		t.Errorf("doubts %v, want none", m.OpenDoubts[p0])
	}
}

// These chunks are finished though the group waits.
func TestSomeChunksAreNotLeft(t *testing.T) {
	const links = 20
	for name, o := range map[string]func(*memstore.Memory) *ownership{
		"of the first owner, which has no offset to note": func(m *memstore.Memory) *ownership {
			o := newOwner(t, m, 100)
			o.committedAny, o.groupWaits = true, func() bool { return true } // other partitions
			return o
		},
		"of an owner that has committed none": func(m *memstore.Memory) *ownership {
			o := leaver(t, m)
			o.committedAny = false
			return o
		},
		"of events whose writes may still land": func(m *memstore.Memory) *ownership {
			o := leaver(t, m)
			o.partitions[p0].uncertain = 10
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := memstore.New()
			o := o(m)
			if err := o.countChunk(t.Context(), linksIn(o, links), committed); err != nil {
				t.Fatal(err)
			}
			wantLinks(t, m, links)
		})
	}
}

// A chunk whose first half is counted and not committed is finished.
func TestHalvesAreNotLeft(t *testing.T) {
	m := memstore.New()
	o := leaver(t, m)
	for _, half := range linksIn(o, 20).halves() {
		flush(t, o, half)
	}
	wantLinks(t, m, 20)
}

// What was refused may mean that the store was restarted. The chunk is not left: the caches must be emptied first.
func TestAChunkWithARefusalIsNotLeft(t *testing.T) {
	m := memstore.New()
	o := leaver(t, m)
	refused := false
	m.OnApply = func(store.KeyWrite) memstore.Fault {
		if refused {
			return memstore.Fault{}
		}
		refused = true
		return memstore.Fault{Err: fmt.Errorf("%w: nothing to send it by", store.ErrDisconnected)}
	}
	c := linksIn(o, 20)
	if err := o.tryFlush(t.Context(), c); !errors.Is(err, store.ErrDisconnected) || errors.Is(err, errLeft) {
		t.Errorf("%v, want the refusal", err)
	}
}

// If somebody else has taken the partition, all of a chunk that was left is in doubt, also beyond what is committed.
func TestAChunkThatWasLeftTooLateIsInDoubt(t *testing.T) {
	m := memstore.New()
	o := leaver(t, m)
	if err := o.countChunk(t.Context(), linksIn(o, 20), committed); !errors.Is(err, errLeft) {
		t.Fatal(err)
	}
	newOwner(t, m, 100)
	if err := o.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if doubts := m.OpenDoubts[p0]; len(doubts) != 1 || doubts[0].To != 21 {
		t.Errorf("doubts %v, want one up to the end of the chunk, 21", doubts)
	}
}

// Chunks are left at any point, again and again, by owners of one partition or both. In the end each click is counted once.
func TestChunksThatAreLeftAreCountedOnce(t *testing.T) {
	const perPartition, links = 200, 12
	all := 0
	for seed := range uint64(200) {
		rnd, m := rand.New(rand.NewPCG(seed, 3)), memstore.New()
		link := func(offset int64) string { return fmt.Sprint("link", offset*offset%links) }
		at, left := map[models.Partition]int64{}, 0
		for at[p0] < perPartition || at[p1] < perPartition {
			o := newOwner(t, m, 100)
			o.keysAtOnce = 1 + rnd.IntN(3)
			for p, own := range o.partitions {
				if own.next, own.window = at[p], eventlog.NewWindow(eventlog.Reach{}, at[p]); rnd.IntN(4) == 0 {
					delete(o.partitions, p) // nobody counts it for now
					if _, err := o.store.Release(t.Context(), own.tenure, own.reached()); err != nil {
						t.Fatal(err)
					}
				}
			}
			for chunks := rnd.IntN(3); chunks >= 0; chunks-- {
				c := newChunk(false)
				for _, p := range o.sorted() {
					for offset, n := o.partitions[p].next, rnd.Int64N(30); n > 0 && offset < perPartition; offset, n = offset+1, n-1 {
						linkAt(o, c, p, offset, link(offset))
					}
				}
				calls := rnd.IntN(10)
				o.groupWaits = func() bool { calls--; return calls < 0 }
				if err := o.countChunk(t.Context(), c, committed); errors.Is(err, errLeft) {
					left++
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			maps.Copy(at, offsets(o))
			if err := o.release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]int64{}
		for offset := range int64(perPartition) {
			want[link(offset)] += 2
		}
		for name, clicks := range want {
			if got := m.Counters[models.Key{Keyspace: models.URLShortener, Name: name}][hit]; got != clicks {
				t.Errorf("seed %d: %s has %d clicks, want %d; chunks were left %d times", seed, name, got, clicks, left)
			}
		}
		all += left
	}
	if all < 200 {
		t.Errorf("chunks were left %d times: that shows little", all)
	}
}
