package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/names"
	"footfall/consumer/repair"
	"footfall/consumer/rollup/sight"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/internal/retry"
	"footfall/models"
)

// The goroutines of a process.
const (
	consuming = "consumer"
	checking  = "checker"
	auditing  = "auditor"
	retiring  = "retirer"
)

// actor is one process: a consumer with its ownership, or an audit. Every call to the store waits until the world gives it
// a turn.
type actor struct {
	*memstore.Memory
	w          *world
	ledger     *ledger
	id         int
	generation int
	partitions []models.Partition
	cancel     context.CancelFunc
	mu         sync.Mutex           // two of its goroutines may be woken by the clock at once
	unlisted   []models.Name        // a control lists them late
	turns      map[string]chan bool // of its goroutines that wait for a turn; false: the process is dead
	asleep     time.Time
	leaving    atomic.Bool
	superseded atomic.Bool // by the next generation, of which it would learn by a heartbeat
	crashed    atomic.Bool
	zombie     bool
	audit      bool
	done       atomic.Bool
	left       bool // clean, when asked to
}

func (a *actor) String() string { return fmt.Sprintf("consumer %d %v", a.id, a.partitions) }

func (a *actor) crash() {
	a.crashed.Store(true)
	a.w.out.Crashes++
	a.w.tell("%s crashes", a)
}

// start begins a consumer of the current generation.
func (w *world) start(ctx context.Context, partitions []models.Partition) {
	ctx, cancel := context.WithCancel(ctx)
	a := &actor{
		Memory: w.store, w: w, id: len(w.actors), generation: w.generation, partitions: partitions, cancel: cancel,
		turns: map[string]chan bool{},
	}
	w.actors = append(w.actors, a)
	w.tell("%s starts", a)
	h := w.fate.habits()
	go func() {
		err := a.consume(ctx, &view{actor: a, who: consuming}, h)
		if eventlog.IsRefusal(err) {
			w.refused.Store(true)
		}
		w.tell("%s ends: %v", a, err)
		a.done.Store(true)
		cancel()
	}()
	if !w.controls.noRechecks {
		db := &view{actor: a, who: checking}
		go w.checker(db, db.fresh).WatchDoubts(ctx, partitions)
	}
}

// startAudit begins an audit that repairs, while everything else goes on.
func (w *world) startAudit(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	a := &actor{Memory: w.store, w: w, id: len(w.actors), audit: true, cancel: cancel, turns: map[string]chan bool{}}
	w.actors = append(w.actors, a)
	w.out.Audits++
	w.tell("audit %d starts", a.id)
	go func() {
		store := &view{actor: a, who: auditing}
		found, err := maintenance.NewAuditor(w.checker(store, store.fresh), store, 1, 1).Run(ctx, maintenance.AuditOptions{Repair: true}, func(line string) { w.tell("audit %d: %s", a.id, line) })
		w.tell("audit %d ends: %+v, %v", a.id, found, err)
		a.done.Store(true)
		cancel()
	}()
}

// consume is what a generation does: take, go on where the group is, count chunk by chunk, release.
func (a *actor) consume(ctx context.Context, store *view, as habits) error {
	h, mx, logger := eventlog.NewHasher(), simMetrics(), slog.New(slog.DiscardHandler)
	o := &ownership{
		store: store, tables: simTables, owner: fmt.Sprintf("%v/v%d", a, eventlog.DecisionVersion), hasher: h, keysAtOnce: 1 + a.id%3, visitors: sight.New(store, h, 100, a.w.store.Full, 2, mx.LRUHits, mx.Lookups), ledger: newLedger(store, h, 2*as.cache), names: names.New(store, a.w.plan, h, as.cache),
		retirements: eventlog.NewRetirementWatcher(store, logger), deadLetters: &keptDeadLetters{}, metrics: mx, log: logger, doubts: &repair.Doubter{Store: store, NewID: store.fresh, Metrics: mx.Repair, Logger: logger}, maxSpan: a.w.span/2 + 1,
		partitions: map[models.Partition]*owned{}, lostGroup: func() bool { return a.leaving.Load() || a.crashed.Load() }, groupWaits: a.leaving.Load,
		bounds: func(_ context.Context, ps []models.Partition) (map[models.Partition]eventlog.Span, error) {
			bounds := map[models.Partition]eventlog.Span{}
			for _, p := range ps {
				bounds[p] = eventlog.Span{From: 0, To: a.w.written(p)}
			}
			return bounds, nil
		},
		sumAt: func(_ context.Context, p models.Partition, offset int64) (string, error) {
			it := a.w.item(p, offset)
			return it.Tail().Sum, nil
		},
	}
	a.ledger = o.ledger
	if a.w.controls.shortDoubts {
		o.maxSpan = 1
	}
	for _, p := range a.partitions {
		at := a.w.committed[p]
		if a.w.controls.believing {
			at.Tables = simTables
		}
		o.partitions[p] = &owned{next: at.Offset, committed: at.Offset, said: at.Mark}
	}
	if a.w.controls.deaf {
		o.retirements = nil
	}
	if err := o.take(ctx); err != nil {
		return err
	}
	for p, own := range o.partitions {
		if err := own.startFrom(eventlog.Span{From: 0, To: a.w.written(p)}, o.tables, false); err != nil {
			return err
		}
		if a.w.controls.noReading {
			own.uncountedFrom, own.unknown = 1, 0
		}
	}
	bounds, err := o.bounds(ctx, a.partitions)
	if err != nil {
		return err
	}
	if err := o.checkLogIdentity(ctx, bounds); err != nil {
		return err
	}
	within := simReach
	if a.w.controls.noDuplicate {
		within.Offsets = 0
	}
	for p, own := range o.partitions {
		own.window = eventlog.NewWindow(within, max(0, own.next-simReach.Offsets))
		if err := a.follow(ctx, p, own, h); err != nil {
			return err
		}
		for offset := own.window.Next; offset < own.next; offset++ {
			it := a.w.item(p, offset)
			it.Warm = true
			o.add(nil, it)
		}
	}
	if err := o.doubtPredecessors(ctx); err != nil {
		return err
	}
	if err := a.noteEnds(ctx, o); err != nil {
		return err
	}
	if _, err := o.claim(ctx, a.commit); err != nil {
		return err
	}
	collect := func(inParts bool) (*chunk, error) {
		c := newChunk(false)
		for _, p := range a.partitions {
			if a.gated(ctx, store, p) {
				continue
			}
			next := max(o.partitions[p].next, o.partitions[p].collected)
			for offset := next; offset < min(a.w.written(p), next+as.offsets()); offset++ {
				it := a.w.item(p, offset)
				if err := o.retirements.Await(ctx, it.Event); err != nil {
					return nil, err
				}
				o.add(c, it)
				if inParts && c.trouble == nil && c.events.Len() == 2 { // the first part
					o.sumAhead(ctx, c)
				}
				if a.w.controls.forgetsIDs && it.Event == nil {
					o.partitions[p].window = eventlog.NewWindow(within, offset+1)
				}
			}
		}
		return c, nil
	}
	var following *chunk // prepared while the one before it is not counted yet
	for !a.leaving.Load() {
		c := following
		if following = nil; c == nil {
			var err error
			if c, err = collect(as.ahead()); err != nil {
				return err
			}
		}
		if len(c.spans) == 0 {
			if err := retry.Sleep(ctx, as.poll); err != nil {
				return err
			}
			if a.superseded.Load() {
				break
			}
			if err := errors.Join(a.noteEnds(ctx, o), a.listLate(ctx)); err != nil {
				return err
			}
			continue
		}
		if as.ahead() {
			var err error
			if c.trouble == nil {
				o.lookAhead(ctx, c) // visitors are decided in the order of the log
			}
			if following, err = collect(c.trouble == nil); err != nil {
				return err
			}
			if c.trouble == nil && following.trouble == nil {
				o.lookAhead(ctx, following)
			}
		}
		if err := o.countChunk(ctx, c, a.commit); errors.Is(err, errLeft) {
			a.w.out.Left++
			break
		} else if err != nil {
			return err
		}
	}
	a.left = true
	return errors.Join(o.release(ctx), a.listLate(ctx))
}

// commit is fenced by the group's generation: members that leave may commit until the next one begins.
func (a *actor) commit(_ context.Context, places map[models.Partition]eventlog.GroupOffset) error {
	if !a.wait(consuming) {
		return errDead
	}
	if a.generation != a.w.generation {
		return errors.New("this generation is over")
	}
	maps.Copy(a.w.committed, places)
	return nil
}

// land lets the late writes that are due take effect.
func (w *world) land() {
	w.late = slices.DeleteFunc(w.late, func(l lateWrite) bool {
		if time.Now().Before(l.due) {
			return false
		}
		l.apply()
		return true
	})
}

func (w *world) apply(write store.KeyWrite) {
	if w.controls.noLedger {
		write.Ledger = nil
	}
	w.checkOrder(write)
	w.history = append(w.history, write)
	w.store.ApplyOne(write)
	w.out.Writes++
}

// attempt lets one write end as its fate decides.
func (w *world) attempt(write store.KeyWrite) error {
	ends := w.fate.writeEnds()
	switch ends {
	case done:
		w.apply(write)
		return nil
	case failed, disconnected:
		w.out.Refused++
		if ends == disconnected {
			return fmt.Errorf("%w: nothing to send it by", store.ErrDisconnected)
		}
		return errors.New("overloaded")
	}
	w.out.Unknown++
	switch ends {
	case unheard:
		w.tell("applied, but the answer is lost: %v", write)
		w.apply(write)
	case hidden:
		w.out.Hidden++
		w.tell("on one replica alone: %v", write)
		w.hidden = append(w.hidden, write)
	case late:
		w.out.Late++
		w.tell("will land late: %v", write)
		due := time.Now().Add(w.fate.landsIn())
		w.late = append(w.late, lateWrite{due, func() {
			w.tell("a write lands late: %v", write)
			w.apply(write)
		}})
	default:
		w.tell("lost: %v", write)
	}
	if w.controls.blindRetry {
		return w.attempt(write)
	}
	return memstore.Unknown("timeout")
}

// reveal makes the hidden writes of the keys visible, as a read from all replicas does; without keys, all hidden writes.
func (w *world) reveal(keys ...models.Key) {
	w.hidden = slices.DeleteFunc(w.hidden, func(write store.KeyWrite) bool {
		if len(keys) > 0 && !slices.Contains(keys, write.Key) {
			return false
		}
		w.tell("no longer on one replica alone: %v", write)
		w.apply(write)
		return true
	})
}
