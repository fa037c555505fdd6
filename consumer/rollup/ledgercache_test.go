package rollup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// cached counts made-up clicks with a ledger whose cache may be far too small, as an owner does.
type cached struct {
	t         *testing.T
	rnd       *rand.Rand
	m         *memstore.Memory
	ledger    *ledger
	epochs    map[models.Partition]int64
	next      map[models.Partition]int64
	untouched bool // nobody else, and no earlier epoch, counted from next on
	want      map[models.Key]int64
	reads     int
}

func newCached(t *testing.T, seed uint64, partitions, size int) *cached {
	m := memstore.New()
	c := &cached{
		t: t, rnd: rand.New(rand.NewPCG(seed, 2)), m: m, ledger: newLedger(m, eventlog.NewHasher(), size), untouched: true,
		epochs: map[models.Partition]int64{}, next: map[models.Partition]int64{}, want: map[models.Key]int64{},
	}
	for p := range partitions {
		c.epochs[models.Partition{Topic: "clicks", Number: p}] = 1
	}
	return c
}

// newEpochs is what an owner does that takes its partitions, or renews their epochs.
func (c *cached) newEpochs() {
	for p := range c.epochs {
		c.epochs[p]++
	}
}

// chunk makes up clicks on some of the links, in all partitions.
func (c *cached) chunk(links int) ([]*eventlog.Counted, map[models.Partition]eventlog.Span) {
	var events []*eventlog.Counted
	spans := map[models.Partition]eventlog.Span{}
	for p := range c.epochs {
		s := eventlog.Span{From: c.next[p], To: c.next[p] + 1 + c.rnd.Int64N(4)}
		for offset := s.From; offset < s.To; offset++ {
			click := &models.Click{ShortURL: fmt.Sprint(c.rnd.IntN(links))}
			events = append(events, &eventlog.Counted{Partition: p, Offset: offset, Event: click, First: []bool{false}})
			c.want[models.Key{Keyspace: models.URLShortener, Name: click.ShortURL}]++
		}
		spans[p], c.next[p] = s, s.To
	}
	return events, spans
}

// count counts a chunk. With trouble, some of its writes fail first: they were refused, or their outcome is unknown.
func (c *cached) count(events []*eventlog.Counted, spans map[models.Partition]eventlog.Span, trouble bool) {
	for untouched := c.untouched; ; trouble, untouched = false, c.untouched && untouched {
		work := deltasOf(slices.All(events))
		known, err := c.ledger.load(c.t.Context(), work, c.epochs, false, untouched)
		if err != nil {
			c.t.Fatal(err)
		}
		c.reads += known.reads
		leaveOut(work, slices.All(events), spans, known.at)
		var doubted []models.Key
		failed := false
		for _, w := range planWrites(work.All(), spans, known.at, c.epochs) {
			switch fate := c.rnd.IntN(8); {
			case trouble && fate == 0: // refused
				failed = true
				continue
			case trouble && fate <= 2: // unknown
				if doubted = append(doubted, w.Key); fate == 1 {
					c.m.Apply(c.t.Context(), []store.KeyWrite{w})
				}
				continue
			}
			if err := c.m.Apply(c.t.Context(), []store.KeyWrite{w})[0]; err != nil {
				c.t.Fatal(err)
			}
			c.ledger.acknowledge(w, spans)
		}
		switch {
		case len(doubted) > 0: // the chunk is counted in part, under an earlier epoch
			c.newEpochs()
			c.ledger.renew(doubted)
			untouched = false
		case failed:
			if c.rnd.IntN(2) == 0 {
				c.ledger.forget() // the connection was lost
			}
		default:
			return
		}
	}
}

// Whatever is evicted, forgotten, renewed and dropped: each click is counted once.
func TestTheLedgerWithASmallCache(t *testing.T) {
	for seed := range uint64(60) {
		size := []int{1, 5, 20, 1000}[seed%4]
		c := newCached(t, seed, 1+int(seed)%9, size)
		for range 60 {
			switch c.rnd.IntN(12) {
			case 0: // taken again, from an owner that left clean: under its epoch, which has rows
				c.ledger.drop()
				c.untouched = false
			case 1: // taken from one that crashed
				c.ledger.drop()
				c.newEpochs()
				c.untouched = true
			}
			events, spans := c.chunk(30)
			c.count(events, spans, c.rnd.IntN(4) == 0)
		}
		for key, want := range c.want {
			if got := c.m.Counters[key][hit]; got != want {
				t.Errorf("seed %d, cache of %d: link %s has %d clicks, want %d", seed, size, key.Name, got, want)
			}
		}
	}
}

// An owner reads the ledger of a key once, however many partitions the key turns up in afterwards.
func TestALedgerIsReadOnce(t *testing.T) {
	const links = 30
	c := newCached(t, 1, 9, 1000)
	for range 3 {
		c.ledger.drop()
		c.untouched, c.reads = false, 0 // it goes on under its predecessor's epoch
		for range 20 {
			events, spans := c.chunk(links)
			c.count(events, spans, false)
		}
		if c.reads != links {
			t.Errorf("%d ledgers of %d keys were read", c.reads, links)
		}
	}
}
