package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"footfall/consumer/store"
	"footfall/models"
)

// logReader reads a part of the log again.
type logReader interface {
	// read hands on the items of s in order, as far as the log holds them, after those before it that tell duplicates (warm).
	// It returns a *refusal if it knows nothing of the topic.
	read(ctx context.Context, p models.Partition, s span, r reach, each func(item)) (reading, error)
}

// reading is what could be read of a span.
type reading struct {
	span
	whole bool // the ids before it are there as well, as far as they matter: duplicates can be told
}

// checker holds the ledger of keys against the rule and repairs what breaks it, from the log. It needs no ownership: a
// repair is a write with a ledger row of its own, which touches nobody else's, and one of unknown outcome, or made twice, is
// found by the next check like anything else. Safe for concurrent use.
type checker struct {
	store   store.Store
	log     logReader
	hasher  hasher
	reach   reach
	sources sources
	number  func() int64 // one that no other repair or doubt has
	metrics *metrics

	parts, partsAtOnce int // of an audit; 0: one
	maxBroken          int // keys that an audit gathers before it mends them; 0: the default
	logger             *slog.Logger
}

// finding is what a check found.
type finding struct {
	keys     int  // looked at
	off      int  // keys that broke the rule
	repaired int  // of those, with the repair acknowledged
	complete bool // every replica answered
	renewed  bool // note was called, and successfully
	gone     int64
}

// check looks at the keys that have events in s of p, and at extra. It mends them if note is given: that is called before the
// repairs are sent, and after, and has to make sure that somebody looks at the same keys again. gone is how many offsets, from the
// beginning of s on, the log no longer holds; the others are checked all the same.
func (c *checker) check(ctx context.Context, p models.Partition, s span, extra []models.Key, note func() error) (finding, error) {
	events, r, err := c.events(ctx, p, s)
	if err != nil {
		return finding{}, err
	}
	candidates := contributions(all(events, true)) // what the events may touch at the most
	cells := make(map[models.Key][]models.Cell, len(candidates))
	for key, list := range candidates {
		cells[key] = distinctCells(list)
	}
	for _, key := range extra {
		if cells[key] == nil {
			cells[key] = []models.Cell{}
		}
	}
	rows, complete, err := c.store.Confirm(ctx, cells)
	if err != nil {
		return finding{}, fmt.Errorf("checking ledger: %w", err)
	}
	f := finding{keys: len(cells), complete: complete, gone: r.from - s.from}
	broken := map[models.Key][]excess{}
	for key := range cells {
		if list := excessesIn(rows[key], p, r.span); len(list) > 0 {
			broken[key] = list
		}
	}
	f.off = len(broken)
	if f.off == 0 || note == nil {
		return f, nil
	}
	if !r.whole {
		return f, &refusal{fmt.Sprintf("%d keys are off, but Kafka has deleted the ids before offset %d of topic %s, partition %d:"+
			" events cannot be told from duplicates", f.off, r.from, p.Topic, p.Number)}
	}
	retired, err := c.decide(ctx, touching(events, candidates, broken))
	if err != nil {
		return f, err
	}
	blind := dropBlind(broken, candidates, retired)
	if len(broken) == 0 {
		return f, blind
	}
	if err := c.reachBack(ctx, p, r.span, rows, broken); err != nil {
		return f, err
	}
	if err := note(); err != nil {
		return f, err
	}
	f.renewed = true
	f.repaired, err = c.repair(ctx, p, events, broken)
	return f, errors.Join(err, note(), blind) // the time until it is looked at counts from the repair, however long that took
}

// reachBack lets what is broken in s begin before it, as far back as there was nothing to count. One whose group was set back
// begins a key's row where its chunk begins, and a zombie extends its own from the last chunk that had something for the key: both
// then cover offsets before the zombie's chunk. Only that chunk is in doubt, and no other doubt would find them.
func (c *checker) reachBack(ctx context.Context, p models.Partition, s span, rows map[models.Key][]store.LedgerRow, broken map[models.Key][]excess) error {
	// Of two rows that meet in s the later one begins there or with a chunk that reaches into it; twice, as in doubtPredecessors.
	before := span{max(0, s.from-2*maxChunkSpan), s.from}
	further := map[models.Key][]excess{}
	for key := range broken {
		if list := excessesIn(rows[key], p, before); len(list) > 0 {
			further[key] = list
		}
	}
	if len(further) == 0 {
		return nil
	}
	events, r, err := c.events(ctx, p, before)
	if err != nil && !errors.Is(err, errRereading) {
		return err
	}
	if err != nil || !r.whole { // a duplicate could be taken for an event
		// The counts of s come first: Kafka may be about to delete it, too.
		c.logger.Warn("what is covered twice before a repair is left: its events could not be read", "topic", p.Topic, "partition", p.Number,
			"from", before.from, "to", before.to, "keys", len(further), "error", err)
		return nil
	}
	candidates := contributions(all(events, true))
	touched := touching(events, candidates, further)
	retired, err := c.decide(ctx, touched)
	if err != nil {
		return err
	}
	counted := contributions(touched)
	for key := range further {
		from := r.from
		for _, con := range counted[key] {
			from = max(from, con.offset+1)
		}
		for _, con := range candidates[key] {
			if retired[con.offset] { // perhaps it had something to count
				from = max(from, con.offset+1)
			}
		}
		broken[key] = excessesIn(rows[key], p, span{from, s.to})
	}
	return nil
}

// dropBlind takes out the keys that cannot be repaired, since visitors of their events are retired, and says so.
func dropBlind(broken map[models.Key][]excess, candidates map[models.Key][]contribution, retired map[int64]bool) error {
	dropped := 0
	for key, list := range broken {
		if slices.ContainsFunc(candidates[key], func(con contribution) bool { return retired[con.offset] && within(list, con.offset) }) {
			delete(broken, key)
			dropped++
		}
	}
	if dropped == 0 {
		return nil
	}
	return &refusal{fmt.Sprintf("%d keys are off in intervals whose visitors are retired: what their events are worth cannot be told"+
		" any more", dropped)}
}

func within(list []excess, offset int64) bool {
	return slices.ContainsFunc(list, func(e excess) bool { return e.from <= offset && offset < e.to })
}

// errRereading wraps failures of the log, not of the store.
var errRereading = errors.New("reading the log again")

// events reads s again, without duplicates and what retirements refuse.
func (c *checker) events(ctx context.Context, p models.Partition, s span) ([]*counted, reading, error) {
	w := newWindow(c.reach, max(0, s.from-c.reach.offsets))
	heritage, err := c.inherits(ctx, p, s)
	if err != nil {
		return nil, reading{}, err
	}
	w.inherited = heritage.to[p.Number]
	var events []*counted
	lacking := false
	r, err := c.log.read(ctx, p, s, c.reach, func(it item) {
		if it.event == nil {
			return
		}
		lacking = lacking || !it.warm && !heritage.whole(it.at, c.reach.age)
		if duplicate := w.see(fingerprintOf(c.hasher, it.identity()), it.offset, it.at); !duplicate && !it.warm {
			events = append(events, &counted{partition: p, offset: it.offset, event: it.event})
		}
	})
	if err != nil {
		return nil, r, fmt.Errorf("%w: %w", errRereading, err)
	}
	r.whole = r.whole && !lacking
	// Asked after the log was read: a retirement that is decided later takes effect beyond what was read.
	notices, err := c.store.Notices(ctx)
	if err != nil {
		return nil, r, err
	}
	events = slices.DeleteFunc(events, func(e *counted) bool {
		return notices.Retirements.Refuse(p, e.offset, e.event) != nil
	})
	return events, r, nil
}

// inherits reads what the window of a partition begins with, if offsets of s are near enough to the beginning.
func (c *checker) inherits(ctx context.Context, p models.Partition, s span) (bequest, error) {
	src := c.sources[p.Topic]
	if src == nil || src.before == nil || s.from > c.reach.offsets {
		return bequest{}, nil
	}
	b, err := inherit(ctx, c.log, src, []int{p.Number}, c.hasher, c.reach)
	if err != nil {
		return b, fmt.Errorf("%w: %w", errRereading, err)
	}
	return b, nil
}

// repair writes, for every stretch that is off, what its events are worth as often as it is off, and a ledger row that
// says so.
func (c *checker) repair(ctx context.Context, p models.Partition, events []*counted, broken map[models.Key][]excess) (int, error) {
	work := contributions(events)
	var writes []store.KeyWrite
	for _, key := range slices.SortedFunc(maps.Keys(broken), models.Key.Compare) {
		w := store.KeyWrite{Key: key, Cells: map[models.Cell]int64{}}
		for _, e := range broken[key] {
			for _, con := range work[key] {
				if e.from <= con.offset && con.offset < e.to {
					w.Cells[con.cell] -= int64(e.n) * con.n
				}
			}
			kind := store.KindMinus
			if e.n < 0 {
				kind = store.KindPlus
			}
			for range max(e.n, -e.n) {
				w.Ledger = append(w.Ledger, store.LedgerRow{LedgerID: store.LedgerID{Partition: p, Kind: kind, Epoch: c.number()}, From: e.from, To: e.to})
			}
			c.logger.Warn("repairing counts", "key", key.Name, "features", key.Features.Values(), "topic", p.Topic,
				"partition", p.Number, "from", e.from, "to", e.to, "counted_too_often", e.n)
		}
		writes = append(writes, w)
	}
	repaired := 0
	var failed []error
	for _, err := range c.store.Apply(ctx, writes) {
		c.metrics.repair(err)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		repaired++
	}
	if len(failed) > 0 {
		return repaired, fmt.Errorf("repairing %d of %d keys, such as: %w", len(failed), len(writes), failed[0])
	}
	return repaired, nil
}

// decide finds out which of the events were a visitor's first, from the visitors' rows. It adds none: what was counted had
// its row before. It returns the offsets of those whose rows may be gone.
func (c *checker) decide(ctx context.Context, events []*counted) (map[int64]bool, error) {
	first := map[models.Sighting]models.Position{}
	for _, e := range events {
		for _, s := range e.event.Sightings() {
			first[s] = models.Position{}
		}
	}
	distinct := slices.Collect(maps.Keys(first))
	found, err := c.store.FirstSeen(ctx, distinct)
	if err != nil {
		return nil, err
	}
	for i, s := range distinct {
		first[s] = found[i]
	}
	notices, err := c.store.Notices(ctx) // after the rows were looked up: they go after the notice
	if err != nil {
		return nil, err
	}
	retired := map[int64]bool{}
	for _, e := range events {
		e.decide(first)
		if notices.Retirements.RowsGone(e.event) {
			retired[e.offset] = true
		}
	}
	return retired, nil
}

// touching lists the events that may have added to a broken stretch, and takes the others out of account.
func touching(events []*counted, candidates map[models.Key][]contribution, broken map[models.Key][]excess) []*counted {
	offsets := map[int64]bool{}
	for key, list := range broken {
		for _, con := range candidates[key] {
			if within(list, con.offset) {
				offsets[con.offset] = true
			}
		}
	}
	all(events, false)
	var out []*counted
	for _, e := range events {
		if offsets[e.offset] {
			out = append(out, e)
		}
	}
	return out
}

// all sets first of every event to the same answer.
func all(events []*counted, first bool) []*counted {
	for _, e := range events {
		e.first = slices.Repeat([]bool{first}, len(e.event.Sightings()))
	}
	return events
}

func distinctCells(list []contribution) []models.Cell {
	seen := map[models.Cell]bool{}
	for _, con := range list {
		seen[con.cell] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// freshNumber numbers a repair or a doubt; no other has it, but for a chance of 2^-63.
func freshNumber() int64 { return rand.Int64N(math.MaxInt64) }

// unreadable tells that the log no longer holds what a check needs.
func unreadable(err error) bool {
	var gone *refusal
	return errors.As(err, &gone)
}
