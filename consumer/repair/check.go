package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/sums"
	"footfall/consumer/store"
	"footfall/models"
)

// Checker compares keys' ledgers with the rule (coverage.go) and repairs violations from the log. It need not own partitions: a
// repair has a ledger row of its own and changes no other. A repair of unknown outcome, or one made twice, is found by the next
// check like any other violation. Safe for concurrent use.
type Checker struct {
	Doubter
	Plan    *models.Plan // of the tables
	Reader  eventlog.Reader
	Hasher  eventlog.Hasher
	Reach   eventlog.Reach
	Sources eventlog.Sources
	// Bytes is about what a check may hold of the events of a span and what they add. A larger span is checked in pieces. Default: 64 MiB.
	Bytes int
	// Holds is told about how many bytes are held. Default: nobody is told.
	Holds func(bytes int)
	// Rechecks are the times after which a doubt is checked, from when its writes have landed. After the last check it is settled.
	Rechecks []time.Duration
}

// NewChecker makes a checker of what consumers counted from the sources of a log.
func NewChecker(l *eventlog.Log, src eventlog.Sources, h eventlog.Hasher, m *Metrics) *Checker {
	return &Checker{
		Doubter: *NewDoubter(l.Store, m, l.Logger), Plan: l.Plan, Hasher: h, Reach: l.Reach(), Sources: src,
		Reader: &eventlog.KafkaReader{Kafka: l.Kafka, Sources: src}, Rechecks: rechecks,
	}
}

// What a check holds beside Checker.Bytes is bounded by these.
const (
	defaultBytes  = 64 << 20
	bytesPerEvent = 600 // beside its text
	keysAtOnce    = 256 // whose repairs are written at once
	eventsAtOnce  = 100 // whose visitors are looked up at once
)

// Finding is what a check found.
type Finding struct {
	complete bool  // every replica answered
	Gone     int64 // offsets, at the beginning of the span, that the log no longer holds
}

// Check checks the keys that have events in s of p, and the keys in extra, and repairs them. It calls note before and after it sends
// repairs: note must ensure that the same keys are checked again. Offsets that the log no longer holds are left out.
func (c *Checker) Check(ctx context.Context, p models.Partition, s eventlog.Span, extra []models.Key, note func() error) (Finding, error) {
	f := Finding{complete: true}
	defer c.holds(0)
	var refused error
	for again := reread(s); !again.left.Empty(); {
		piece, err := c.checkPiece(ctx, p, again, extra, note)
		f.complete, f.Gone = f.complete && piece.complete, max(f.Gone, piece.Gone-s.From)
		if eventlog.IsRefusal(err) {
			refused = errors.Join(refused, err)
		} else if err != nil {
			return f, err
		}
	}
	return f, refused
}

// checkPiece checks as much as fits into memory. Gone of its finding is an offset.
func (c *Checker) checkPiece(ctx context.Context, p models.Partition, again *rereading, extra []models.Key, note func() error) (f Finding, err error) {
	h, err := c.hold(ctx, p, again)
	if err != nil {
		return f, err
	}
	broken, complete, err := c.compare(ctx, p, h, extra)
	if err != nil {
		return f, fmt.Errorf("checking ledger: %w", err)
	}
	f = Finding{complete: complete, Gone: h.Gone}
	if !h.Whole { // nor can be told what lies beyond
		broken = clip(broken, h.Span)
	}
	if len(broken) == 0 {
		return f, nil
	}
	if !h.Whole {
		return f, eventlog.Refuse("%d keys are off, but Kafka has deleted the ids before offset %d of topic %s, partition %d:"+
			" events cannot be told from duplicates", len(broken), h.From, p.Topic, p.Number)
	}
	events := touching(h.events, broken)
	retired, err := c.decide(ctx, events)
	if err != nil {
		return f, err
	}
	blind := dropBlind(broken, events, retired)
	if len(broken) == 0 {
		return f, blind
	}
	if err := c.reach(ctx, p, h, broken); err != nil || len(broken) == 0 {
		return f, errors.Join(err, blind)
	}
	if err := note(); err != nil {
		return f, err
	}
	if err = c.repair(ctx, p, events, broken); err != nil {
		return f, errors.Join(err, note())
	}
	return f, errors.Join(note(), blind) // noted again: the time until the next check counts from the end of the repair
}

// rereading is a span that is read again in pieces. Each is read once: the window that one leaves tells which events of the next are duplicates.
type rereading struct {
	left     eventlog.Span
	step     int64            // how much is read at once: if a piece was cut short, there is no use in reading much more than it
	window   *eventlog.Window // nil: nothing was read yet
	heritage eventlog.Bequest
	whole    bool
}

func reread(s eventlog.Span) *rereading { return &rereading{left: s, step: s.To - s.From, whole: true} }

// held is what a check has in memory of a span.
type held struct {
	eventlog.Reading                     // ends where the events do
	Gone             int64               // what lies below is not in the log any more; 0: nothing is missing
	events           []*eventlog.Counted // not decided yet
	adds             *sums.Sums          // what they add if each of them is its visitor's first
}

// hold reads on until it has as much as it may hold. It leaves out duplicates, and the visits that retirements refuse.
func (c *Checker) hold(ctx context.Context, p models.Partition, again *rereading) (h held, err error) {
	s, reach := eventlog.Span{From: again.left.From, To: min(again.left.To, again.left.From+again.step)}, eventlog.Reach{}
	begins := again.window == nil
	if begins {
		if again.heritage, err = c.inherits(ctx, p, s); err != nil {
			return h, err
		}
		reach, again.window = c.Reach, eventlog.NewWindow(c.Reach, max(0, s.From-c.Reach.Offsets))
		again.window.Inherited = again.heritage.To[p.Number]
	}
	h.adds = sums.New()
	bytes, most, to := 0, cmp.Or(c.Bytes, defaultBytes)/2, s.To // half, since reach holds as much again
	h.Reading, err = c.Reader.Read(ctx, p, s, reach, func(it eventlog.Item) {
		if it.Event == nil || it.Offset >= to {
			return
		}
		again.whole = again.whole && (it.Warm || again.heritage.Whole(it.At, c.Reach.Age))
		if duplicate := again.window.See(eventlog.FingerprintOf(c.Hasher, it.Event.Identity()), it.Offset, it.At); duplicate || it.Warm {
			return
		}
		e := &eventlog.Counted{Partition: p, Offset: it.Offset, Event: it.Event, First: everyFirst}
		h.adds.Add(func(yield func(int, *eventlog.Counted) bool) { yield(0, e) })
		e.First = nil
		h.events = append(h.events, e)
		if bytes += bytesPerEvent + it.Bytes; bytes+h.adds.Bytes() > most {
			to = it.Offset + 1
		}
	})
	if err != nil {
		return h, fmt.Errorf("%w: %w", errRereading, err)
	}
	if h.From > s.From {
		h.Gone = h.From
	}
	again.whole = again.whole && h.Whole && (begins || h.Gone == 0) // or ids were deleted that the window does not have
	h.To, h.Whole = min(h.To, to), again.whole
	again.left.From, again.step = to, 2*(to-s.From)
	c.holds(bytes + h.adds.Bytes())
	// Asked after the log was read: a retirement that is decided later takes effect beyond what was read.
	notices, err := c.Store.Notices(ctx)
	h.events = slices.DeleteFunc(h.events, func(e *eventlog.Counted) bool {
		return notices.Retirements.Refuse(p, e.Offset, e.Event) != nil
	})
	return h, err
}

func (c *Checker) holds(bytes int) {
	if c.Holds != nil {
		c.Holds(bytes)
	}
}

// everyFirst is First of an event that is its visitor's first in every way, as far as anybody can tell before the rows are asked.
var everyFirst = slices.Repeat([]bool{true}, 3<<models.MaxFeatures)

// compare returns the keys that are off in what is held, each with its excesses there and before it, as far back as a repair may reach.
func (c *Checker) compare(ctx context.Context, p models.Partition, h held, extra []models.Key) (broken map[models.Key][]Excess, complete bool, err error) {
	var keys []models.Key
	var ones []sums.One
	for key, one := range h.adds.All() {
		keys, ones = append(keys, key), append(ones, one)
	}
	keys = append(keys, extra...)
	broken = map[models.Key][]Excess{}
	complete, err = c.Store.Confirm(ctx, keys, func(i int) iter.Seq[models.Cell] {
		if i >= len(ones) {
			return func(func(models.Cell) bool) {} // an extra one, which need have no event in s
		}
		return ones[i].Names()
	}, func(i int, rows []store.LedgerRow) {
		if len(ExcessesIn(rows, p, eventlog.Span{From: h.From, To: after(h.Span).To})) > 0 { // what begins beyond may be for no other check: see reach
			broken[keys[i]] = ExcessesIn(rows, p, eventlog.Span{From: before(h.Span).From, To: after(h.Span).To})
		}
	})
	return broken, complete, err
}

// before and after are how far a repair of s may reach. Of two rows that overlap in s, the later one begins in s or with a chunk that reaches into
// s, and the earlier one ends so. Twice, as in doubtPredecessors.
func before(s eventlog.Span) eventlog.Span {
	return eventlog.Span{From: max(0, s.From-2*MaxChunkSpan), To: s.From}
}

func after(s eventlog.Span) eventlog.Span {
	return eventlog.Span{From: s.To, To: s.To + 2*MaxChunkSpan}
}

// reach cuts off what is broken outside of what is held, but for offsets directly beside it where the key had nothing to count. When a group is set
// back, the new owner opens a key's row where its chunk begins, and a zombie extends its own row from the last chunk that had events of the key:
// both cover offsets before the zombie's chunk. And both rows go on to the end of a chunk, where another check may be told nothing of the key.
func (c *Checker) reach(ctx context.Context, p models.Partition, h held, broken map[models.Key][]Excess) error {
	from, to := map[models.Key]int64{}, map[models.Key]int64{}
	for _, side := range []struct {
		eventlog.Span
		find func(context.Context, models.Partition, eventlog.Span, map[models.Key][]Excess) (map[models.Key]int64, error)
		into map[models.Key]int64
	}{{before(h.Span), c.nothingFrom, from}, {after(h.Span), c.nothingTo, to}} {
		further := clip(broken, side.Span)
		if len(further) == 0 {
			continue
		}
		nothing, err := side.find(ctx, p, side.Span, further)
		if errors.Is(err, errRereading) {
			// Repair what is held all the same: Kafka may soon delete it, too.
			c.Logger.Warn("offsets beside a repair stay covered twice: their events could not be read", "topic", p.Topic, "partition", p.Number,
				"from", side.From, "to", side.To, "keys", len(further), "error", err)
		} else if err != nil {
			return err
		}
		maps.Copy(side.into, nothing)
	}
	for key, list := range broken {
		s := h.Span
		if at, known := from[key]; known {
			s.From = at
		}
		if at, known := to[key]; known {
			s.To = at
		}
		if broken[key] = within(list, s); len(broken[key]) == 0 {
			delete(broken, key)
		}
	}
	return nil
}

// nothingTo finds up to where, from the beginning of s on, each key has no event. An event that adds nothing ends that, too: whoever checks it compares
// the key.
func (c *Checker) nothingTo(ctx context.Context, p models.Partition, s eventlog.Span, broken map[models.Key][]Excess) (map[models.Key]int64, error) {
	to := map[models.Key]int64{}
	for again := reread(s); len(broken) > 0 && !again.left.Empty(); broken = clip(broken, again.left) {
		h, err := c.hold(ctx, p, again)
		if err != nil || !h.Whole || h.Gone > 0 || h.Empty() {
			return to, err
		}
		for key := range broken {
			to[key] = h.To
		}
		for _, e := range h.events {
			e.Event.Count(everyFirst, func(key models.Key, _ models.Cell, _ int64) {
				if broken[key] != nil {
					to[key] = e.Offset
					delete(broken, key)
				}
			})
		}
	}
	return to, nil
}

// nothingFrom finds from where on, up to the end of s, each key had nothing to count.
func (c *Checker) nothingFrom(ctx context.Context, p models.Partition, s eventlog.Span, broken map[models.Key][]Excess) (map[models.Key]int64, error) {
	from := map[models.Key]int64{}
	for again := reread(s); !again.left.Empty(); {
		h, err := c.hold(ctx, p, again)
		if err == nil && !h.Whole { // a duplicate could be taken for an event
			err = fmt.Errorf("%w: Kafka has deleted ids before offset %d", errRereading, h.From)
		}
		if err != nil {
			return nil, err
		}
		events := touching(h.events, broken)
		retired, err := c.decide(ctx, events)
		if err != nil {
			return nil, err
		}
		for key := range broken {
			from[key] = max(from[key], h.Gone)
		}
		for _, e := range events {
			if retired[e.Offset] {
				e.First = everyFirst // it may have added to the key
			}
			e.Event.Count(e.First, func(key models.Key, _ models.Cell, _ int64) {
				if broken[key] != nil {
					from[key] = max(from[key], e.Offset+1)
				}
			})
		}
	}
	return from, nil
}

// dropBlind removes the keys that cannot be repaired, since visitors of their events are retired. Its error says how many.
func dropBlind(broken map[models.Key][]Excess, events []*eventlog.Counted, retired map[int64]bool) error {
	blind := map[models.Key]bool{}
	for _, e := range events {
		if retired[e.Offset] {
			e.Event.Count(everyFirst, func(key models.Key, _ models.Cell, _ int64) {
				if covers(broken[key], e.Offset) {
					blind[key] = true
				}
			})
		}
	}
	if len(blind) == 0 {
		return nil
	}
	maps.DeleteFunc(broken, func(key models.Key, _ []Excess) bool { return blind[key] })
	return eventlog.Refuse("%d keys are off in intervals whose visitors are retired: without the visitors' rows they cannot be"+
		" repaired", len(blind))
}

// errRereading wraps failures of the log, not of the store.
var errRereading = errors.New("reading the log again")

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
	for keys := range slices.Chunk(slices.SortedFunc(maps.Keys(broken), models.Key.Compare), keysAtOnce) {
		some := make(map[models.Key][]Excess, len(keys))
		for _, key := range keys {
			some[key] = broken[key]
		}
		if err := c.repairSome(ctx, p, events, some); err != nil {
			return err
		}
	}
	return nil
}

// repairSome repairs as many keys as are written at once. A key that is too large for one write gets two, of half the events each.
func (c *Checker) repairSome(ctx context.Context, p models.Partition, events []*eventlog.Counted, broken map[models.Key][]Excess) error {
	writes, large := c.writes(p, events, broken), map[models.Key][]Excess{}
	middle := len(events) / 2
	writes = slices.DeleteFunc(writes, func(w store.KeyWrite) bool {
		splits := middle > 0 && store.TooLarge(w.Key, maps.All(w.Cells), len(w.Ledger))
		if splits {
			large[w.Key] = broken[w.Key]
		}
		return splits
	})
	if len(large) > 0 {
		at := events[middle].Offset
		err := c.repairSome(ctx, p, events[:middle], clip(large, eventlog.Span{To: at}))
		if err == nil {
			err = c.repairSome(ctx, p, events[middle:], clip(large, eventlog.Span{From: at, To: math.MaxInt64}))
		}
		if err != nil {
			return err
		}
	}
	for _, w := range writes {
		for _, e := range broken[w.Key] {
			c.Logger.Warn("repairing counts", "key", w.Key.Name, "features", w.Key.Features.Values(), "topic", p.Topic,
				"partition", p.Number, "from", e.From, "to", e.To, "counted_too_often", e.N)
		}
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

// writes returns the repair of each key, in the order of the keys.
func (c *Checker) writes(p models.Partition, events []*eventlog.Counted, broken map[models.Key][]Excess) (writes []store.KeyWrite) {
	at := map[models.Key]int{}
	for _, key := range slices.SortedFunc(maps.Keys(broken), models.Key.Compare) {
		w := store.KeyWrite{Key: key, Cells: map[models.Cell]int64{}}
		for _, e := range broken[key] {
			kind := store.KindMinus
			if e.N < 0 {
				kind = store.KindPlus
			}
			for range max(e.N, -e.N) {
				w.Ledger = append(w.Ledger, store.LedgerRow{LedgerID: store.LedgerID{Partition: p, Kind: kind, Epoch: c.NewID()}, From: e.From, To: e.To})
			}
		}
		at[key], writes = len(writes), append(writes, w)
	}
	for _, event := range events {
		event.Event.Count(event.First, func(key models.Key, cell models.Cell, n int64) {
			for _, e := range broken[key] {
				if e.From <= event.Offset && event.Offset < e.To {
					writes[at[key]].Cells[cell] -= int64(e.N) * n
				}
			}
		})
	}
	return writes
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
	retired := map[int64]bool{}
	for some := range slices.Chunk(events, eventsAtOnce) {
		first := map[models.Sighting]models.Position{}
		for _, e := range some {
			for _, s := range e.Event.Sightings() {
				first[s] = models.Position{}
			}
		}
		if err := store.FirstEvents(ctx, c.Store, first); err != nil {
			return nil, err
		}
		notices, err := c.Store.Notices(ctx) // after the rows were looked up: rows are removed after the notice
		if err != nil {
			return nil, err
		}
		for _, e := range some {
			e.Decide(first)
			if notices.Retirements.RowsGone(e.Event) {
				retired[e.Offset] = true
			}
		}
	}
	return retired, nil
}

// touching lists the events that may have added to a broken stretch.
func touching(events []*eventlog.Counted, broken map[models.Key][]Excess) (out []*eventlog.Counted) {
	for _, e := range events {
		touches := false
		e.Event.Count(everyFirst, func(key models.Key, _ models.Cell, _ int64) { touches = touches || covers(broken[key], e.Offset) })
		if touches {
			out = append(out, e)
		}
	}
	return out
}

// newID is the random ID of a repair or a doubt: two are the same with a chance of 2^-63. 0 is none.
func newID() int64 { return 1 + rand.Int64N(math.MaxInt64) }
