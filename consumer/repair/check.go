package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// Checker compares keys' ledgers with the rule (coverage.go) and repairs violations from the log. It need not own partitions: a
// repair has a ledger row of its own and changes no other. A repair of unknown outcome, or one made twice, is found by the next
// check like any other violation. Safe for concurrent use.
type Checker struct {
	Store   store.Store
	Plan    *models.Plan // of the tables
	Reader  eventlog.Reader
	Hasher  eventlog.Hasher
	Reach   eventlog.Reach
	Sources eventlog.Sources
	NewID   func() int64 // unique among repairs and doubts
	Metrics *Metrics
	Logger  *slog.Logger
	// Rechecks are the times after which a doubt is checked, from when it was noted. After the last check it is settled.
	Rechecks []time.Duration
}

// NewChecker makes a checker of what consumers counted from the sources of a log.
func NewChecker(l *eventlog.Log, src eventlog.Sources, h eventlog.Hasher, m *Metrics) *Checker {
	return &Checker{
		Store: l.Store, Plan: l.Plan, Hasher: h, Reach: l.Reach(), Metrics: m, Logger: l.Logger, Sources: src,
		Reader: &eventlog.KafkaReader{Kafka: l.Kafka, Sources: src},
		NewID:  newID, Rechecks: rechecks,
	}
}

// Finding is what a check found.
type Finding struct {
	complete bool  // every replica answered
	renewed  bool  // note was called and succeeded
	Gone     int64 // offsets, at the beginning of the span, that the log no longer holds
}

// Check checks the keys that have events in s of p, and the keys in extra, and repairs them. It calls note before and after it sends
// repairs: note must ensure that the same keys are checked again. Offsets that the log no longer holds are left out.
func (c *Checker) Check(ctx context.Context, p models.Partition, s eventlog.Span, extra []models.Key, note func() error) (Finding, error) {
	events, r, err := c.events(ctx, p, s)
	if err != nil {
		return Finding{}, err
	}
	candidates := contributionsOf(all(events, true)) // all that the events may have added
	cells := make(map[models.Key][]models.Cell, len(candidates))
	for key, list := range candidates {
		cells[key] = distinctCells(list)
	}
	for _, key := range extra {
		if cells[key] == nil {
			cells[key] = []models.Cell{}
		}
	}
	rows, complete, err := store.Confirmed(ctx, c.Store, cells)
	if err != nil {
		return Finding{}, fmt.Errorf("checking ledger: %w", err)
	}
	f := Finding{complete: complete, Gone: r.From - s.From}
	broken := map[models.Key][]Excess{}
	for key := range cells {
		if list := ExcessesIn(rows[key], p, r.Span); len(list) > 0 {
			broken[key] = list
		}
	}
	if len(broken) == 0 {
		return f, nil
	}
	if !r.Whole {
		return f, eventlog.Refuse("%d keys are off, but Kafka has deleted the ids before offset %d of topic %s, partition %d:"+
			" events cannot be told from duplicates", len(broken), r.From, p.Topic, p.Number)
	}
	retired, err := c.decide(ctx, touching(events, candidates, broken))
	if err != nil {
		return f, err
	}
	blind := dropBlind(broken, candidates, retired)
	if len(broken) == 0 {
		return f, blind
	}
	if err := c.reachBack(ctx, p, r.Span, rows, broken); err != nil {
		return f, err
	}
	if err := note(); err != nil {
		return f, err
	}
	f.renewed = true
	err = c.repair(ctx, p, events, broken)
	return f, errors.Join(err, note(), blind) // noted again: the time until the next check counts from the end of the repair
}

// reachBack extends what is broken in s to offsets before s, as far back as the key had nothing to count. When a group is set back, the
// new owner opens a key's row where its chunk begins, and a zombie extends its own row from the last chunk that had events of the key:
// both cover offsets before the zombie's chunk. Only that chunk is in doubt, so no other check would find these offsets.
func (c *Checker) reachBack(ctx context.Context, p models.Partition, s eventlog.Span, rows map[models.Key][]store.LedgerRow, broken map[models.Key][]Excess) error {
	// Of two rows that overlap in s, the later one begins in s or with a chunk that reaches into s. Twice, as in doubtPredecessors.
	before := eventlog.Span{From: max(0, s.From-2*MaxChunkSpan), To: s.From}
	further := map[models.Key][]Excess{}
	for key := range broken {
		if list := ExcessesIn(rows[key], p, before); len(list) > 0 {
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
	if err != nil || !r.Whole { // a duplicate could be taken for an event
		// Repair s all the same: Kafka may soon delete it, too.
		c.Logger.Warn("offsets before a repair stay covered twice: their events could not be read", "topic", p.Topic, "partition", p.Number,
			"from", before.From, "to", before.To, "keys", len(further), "error", err)
		return nil
	}
	candidates := contributionsOf(all(events, true))
	touched := touching(events, candidates, further)
	retired, err := c.decide(ctx, touched)
	if err != nil {
		return err
	}
	counted := contributionsOf(touched)
	for key := range further {
		from := r.From
		for _, con := range counted[key] {
			from = max(from, con.Offset+1)
		}
		for _, con := range candidates[key] {
			if retired[con.Offset] { // it may have added to the key
				from = max(from, con.Offset+1)
			}
		}
		broken[key] = ExcessesIn(rows[key], p, eventlog.Span{From: from, To: s.To})
	}
	return nil
}

// dropBlind removes the keys that cannot be repaired, since visitors of their events are retired. Its error says how many.
func dropBlind(broken map[models.Key][]Excess, candidates map[models.Key][]contribution, retired map[int64]bool) error {
	dropped := 0
	for key, list := range broken {
		if slices.ContainsFunc(candidates[key], func(con contribution) bool { return retired[con.Offset] && within(list, con.Offset) }) {
			delete(broken, key)
			dropped++
		}
	}
	if dropped == 0 {
		return nil
	}
	return eventlog.Refuse("%d keys are off in intervals whose visitors are retired: without the visitors' rows they cannot be"+
		" repaired", dropped)
}

func within(list []Excess, offset int64) bool {
	return slices.ContainsFunc(list, func(e Excess) bool { return e.From <= offset && offset < e.To })
}

// errRereading wraps failures of the log, not of the store.
var errRereading = errors.New("reading the log again")

// events reads s again, and leaves out duplicates and the visits that retirements refuse.
func (c *Checker) events(ctx context.Context, p models.Partition, s eventlog.Span) ([]*eventlog.Counted, eventlog.Reading, error) {
	w := eventlog.NewWindow(c.Reach, max(0, s.From-c.Reach.Offsets))
	heritage, err := c.inherits(ctx, p, s)
	if err != nil {
		return nil, eventlog.Reading{}, err
	}
	w.Inherited = heritage.To[p.Number]
	var events []*eventlog.Counted
	lacking := false
	r, err := c.Reader.Read(ctx, p, s, c.Reach, func(it eventlog.Item) {
		if it.Event == nil {
			return
		}
		lacking = lacking || !it.Warm && !heritage.Whole(it.At, c.Reach.Age)
		if duplicate := w.See(eventlog.FingerprintOf(c.Hasher, it.Identity()), it.Offset, it.At); !duplicate && !it.Warm {
			events = append(events, &eventlog.Counted{Partition: p, Offset: it.Offset, Event: it.Event})
		}
	})
	if err != nil {
		return nil, r, fmt.Errorf("%w: %w", errRereading, err)
	}
	r.Whole = r.Whole && !lacking
	// Asked after the log was read: a retirement that is decided later takes effect beyond what was read.
	notices, err := c.Store.Notices(ctx)
	if err != nil {
		return nil, r, err
	}
	events = slices.DeleteFunc(events, func(e *eventlog.Counted) bool {
		return notices.Retirements.Refuse(p, e.Offset, e.Event) != nil
	})
	return events, r, nil
}

// inherits reads the ids that the partition takes over from the generation before it, if s begins within their reach.
func (c *Checker) inherits(ctx context.Context, p models.Partition, s eventlog.Span) (eventlog.Bequest, error) {
	src := c.Sources[p.Topic]
	if src == nil || src.Before == nil || s.From > c.Reach.Offsets {
		return eventlog.Bequest{}, nil
	}
	b, err := eventlog.Inherit(ctx, c.Reader, src, []int{p.Number}, c.Hasher, c.Reach)
	if err != nil {
		return b, fmt.Errorf("%w: %w", errRereading, err)
	}
	return b, nil
}

// repair takes out the events of every broken stretch as often as they were counted too often, or adds them if too seldom, with a ledger
// row each time.
func (c *Checker) repair(ctx context.Context, p models.Partition, events []*eventlog.Counted, broken map[models.Key][]Excess) error {
	work := contributionsOf(events)
	var writes []store.KeyWrite
	for _, key := range slices.SortedFunc(maps.Keys(broken), models.Key.Compare) {
		w := store.KeyWrite{Key: key, Cells: map[models.Cell]int64{}}
		for _, e := range broken[key] {
			for _, con := range work[key] {
				if e.From <= con.Offset && con.Offset < e.To {
					w.Cells[con.Cell] -= int64(e.N) * con.N
				}
			}
			kind := store.KindMinus
			if e.N < 0 {
				kind = store.KindPlus
			}
			for range max(e.N, -e.N) {
				w.Ledger = append(w.Ledger, store.LedgerRow{LedgerID: store.LedgerID{Partition: p, Kind: kind, Epoch: c.NewID()}, From: e.From, To: e.To})
			}
			c.Logger.Warn("repairing counts", "key", key.Name, "features", key.Features.Values(), "topic", p.Topic,
				"partition", p.Number, "from", e.From, "to", e.To, "counted_too_often", e.N)
		}
		writes = append(writes, w)
	}
	if err := c.list(ctx, writes); err != nil {
		return err
	}
	var failed []error
	for _, err := range c.Store.Apply(ctx, writes) {
		c.Metrics.repaired(err)
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("repairing keys: %d of %d failed, such as: %w", len(failed), len(writes), failed[0])
	}
	return nil
}

// list puts the names of the keys into the lists, as owners do before they write counters: perhaps nobody counted a key before.
func (c *Checker) list(ctx context.Context, writes []store.KeyWrite) error {
	var names []models.Name
	for _, w := range writes {
		c.Plan.Names(w.Key, w.Cells, func(n models.Name) { names = append(names, n) })
	}
	if len(names) == 0 {
		return nil
	}
	return c.Store.ListNames(ctx, names)
}

// decide finds out which of the events were a visitor's first, from the visitors' rows. It adds no rows: an event is counted only
// after its rows are stored. It returns the offsets of the events whose rows may be gone.
func (c *Checker) decide(ctx context.Context, events []*eventlog.Counted) (map[int64]bool, error) {
	first := map[models.Sighting]models.Position{}
	for _, e := range events {
		for _, s := range e.Event.Sightings() {
			first[s] = models.Position{}
		}
	}
	distinct := slices.Collect(maps.Keys(first))
	found, err := c.Store.FirstSeen(ctx, distinct)
	if err != nil {
		return nil, err
	}
	for i, s := range distinct {
		first[s] = found[i]
	}
	notices, err := c.Store.Notices(ctx) // after the rows were looked up: rows are removed after the notice
	if err != nil {
		return nil, err
	}
	retired := map[int64]bool{}
	for _, e := range events {
		e.Decide(first)
		if notices.Retirements.RowsGone(e.Event) {
			retired[e.Offset] = true
		}
	}
	return retired, nil
}

// touching lists the events that may have added to a broken stretch. The others are set to be nobody's first.
func touching(events []*eventlog.Counted, candidates map[models.Key][]contribution, broken map[models.Key][]Excess) []*eventlog.Counted {
	offsets := map[int64]bool{}
	for key, list := range broken {
		for _, con := range candidates[key] {
			if within(list, con.Offset) {
				offsets[con.Offset] = true
			}
		}
	}
	all(events, false)
	var out []*eventlog.Counted
	for _, e := range events {
		if offsets[e.Offset] {
			out = append(out, e)
		}
	}
	return out
}

// all sets First of every event to the same answer.
func all(events []*eventlog.Counted, first bool) []*eventlog.Counted {
	for _, e := range events {
		e.First = slices.Repeat([]bool{first}, len(e.Event.Sightings()))
	}
	return events
}

func distinctCells(list []contribution) []models.Cell {
	seen := map[models.Cell]bool{}
	for _, con := range list {
		seen[con.Cell] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// newID is the random ID of a repair or a doubt: two are the same with a chance of 2^-63.
func newID() int64 { return rand.Int64N(math.MaxInt64) }
