package rollup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

var errDead = errors.New("this process is dead")

// view is the store as one goroutine of a process sees it: each call waits for its turn, fails if its process has died meanwhile,
// and may fail before or after it took effect.
type view struct {
	*actor
	who string // which of the process's goroutines
	ids atomic.Int64
}

// fresh makes IDs. Goroutines make their own: they may do it at the same time, and a play must not depend on who is first.
func (v *view) fresh() int64 {
	const each = 1 << 20
	return int64(v.id)*4*each + int64(slices.Index([]string{consuming, checking, auditing, retiring}, v.who))*each + v.ids.Add(1)
}

func (v *view) call(ctx context.Context, do func() error) error { return v.callAs(ctx, v.who, do) }

// of names one of the goroutines that call the store for several partitions at once.
func (v *view) of(p models.Partition) string { return fmt.Sprint(v.who, " of ", p) }

func (v *view) callAs(ctx context.Context, who string, do func() error) error {
	if !v.wait(who) {
		return errDead
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch v.w.fate.callEnds() {
	case failed:
		return errors.New("timeout")
	case disconnected:
		return fmt.Errorf("%w: reset", store.ErrDisconnected)
	case unheard:
		v.w.tell("%s: done, but the answer is lost", v.actor)
		return errors.Join(do(), errors.New("timeout"))
	}
	return do()
}

func (v *view) Take(ctx context.Context, p models.Partition, owner string) (t store.Tenure, err error) {
	err = v.callAs(ctx, v.of(p), func() (err error) {
		t, err = v.w.take(p, func() (store.Tenure, error) { return v.Memory.Take(ctx, p, owner) })
		return err
	})
	return t, err
}

func (v *view) Release(ctx context.Context, t store.Tenure, committed int64) (ok bool, err error) {
	err = v.callAs(ctx, v.of(t.Partition), func() (err error) { ok, err = v.Memory.Release(ctx, t, committed); return err })
	return ok, err
}

func (v *view) Progress(ctx context.Context, t store.Tenure, committed int64) (ok bool, err error) {
	err = v.callAs(ctx, v.of(t.Partition), func() (err error) { ok, err = v.Memory.Progress(ctx, t, committed); return err })
	return ok, err
}

func (v *view) FirstSeen(ctx context.Context, sightings []models.Sighting) (found []models.Position, err error) {
	if v.w.controls.noForgetting && v.who == consuming {
		v.ledger.cache.Forgot = false
	}
	err = v.call(ctx, func() (err error) { found, err = v.Memory.FirstSeen(ctx, sightings); return err })
	return found, err
}

func (v *view) Visitors(ctx context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	return v.call(ctx, func() error { return v.Memory.Visitors(ctx, visitors, found) })
}

// Remember stores the visitors one by one, in any order.
func (v *view) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	return v.remember(ctx, len(sightings), func(i int) func(context.Context) error {
		one, at := []models.Sighting{sightings[i]}, []models.Position{first[i]} // a late write outlives the caller's lists
		return func(ctx context.Context) error { return v.Memory.Remember(ctx, one, at) }
	})
}

// RememberFirsts stores the entries one by one, in any order.
func (v *view) RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error {
	var whose [][]models.Visitor
	var entries [][][]models.First
	for i, list := range firsts {
		for _, f := range list {
			whose, entries = append(whose, visitors[i:i+1:i+1]), append(entries, [][]models.First{{f}})
		}
	}
	return v.remember(ctx, len(entries), func(i int) func(context.Context) error {
		return func(ctx context.Context) error {
			return v.Memory.RememberFirsts(ctx, slices.Clone(whose[i]), entries[i])
		}
	})
}

// remember does n inserts in any order, beside what else the goroutine does. One may fail, so that those after it are not done, and may be
// applied late.
func (v *view) remember(ctx context.Context, n int, insert func(i int) func(context.Context) error) error {
	who := v.who + " remembering"
	if !v.wait(who) { // only who has the turn may ask for its fate
		return errDead
	}
	for _, i := range v.w.fate.order(n) {
		do := insert(i)
		err := v.callAs(ctx, who, func() error { return do(ctx) })
		if err == nil {
			continue
		}
		if v.w.fate.stored() {
			due := time.Now().Add(v.w.fate.landsIn())
			v.w.late = append(v.w.late, lateWrite{due, func() { _ = do(context.Background()) }})
		}
		if v.w.controls.earlyLRU && !errors.Is(err, errDead) {
			return nil
		}
		return err
	}
	return nil
}

func (v *view) Ledger(ctx context.Context, keys []models.Key, found func(int, []store.LedgerRow)) error {
	return v.call(ctx, func() error {
		v.w.fate.beforeReading()
		return v.Memory.Ledger(ctx, keys, found)
	})
}

// Confirm may miss a replica's answer. Then it does not see hidden writes.
func (v *view) Confirm(ctx context.Context, keys []models.Key, cells func(int) iter.Seq[models.Cell], found func(int, []store.LedgerRow)) (complete bool, err error) {
	err = v.call(ctx, func() (err error) {
		v.w.fate.beforeReading()
		missing := time.Now().Before(v.w.back)
		if missing {
			v.w.out.Incomplete++
		} else {
			for _, key := range slices.SortedFunc(slices.Values(keys), models.Key.Compare) {
				v.w.reveal(key)
			}
		}
		_, err = v.Memory.Confirm(ctx, keys, cells, found)
		complete = !missing || v.w.controls.anyReplica
		return err
	})
	return complete, err
}

// Apply applies the writes one by one: if the process dies, some are applied and some are not.
func (v *view) Apply(ctx context.Context, writes []store.KeyWrite) []error {
	if v.who != consuming {
		v.w.out.Repairs += len(writes)
		if v.w.controls.shrinks {
			writes = v.w.shrink(writes)
		}
	}
	errs := make([]error, len(writes))
	for i, write := range writes {
		if !v.wait(v.who) {
			errs[i] = memstore.Unknown("died")
			continue
		}
		if errs[i] = v.w.attempt(write); errs[i] != nil && v.who == consuming && v.w.fate.crashes() {
			v.crash()
		}
	}
	_ = v.listAfter(ctx) // a store in memory does not fail
	return errs
}

func (v *view) NoteDoubt(ctx context.Context, d store.Doubt) error {
	if v.w.controls.noDoubts {
		return nil
	}
	return v.call(ctx, func() error {
		v.w.out.Doubts++
		v.w.tell("%s doubts %v", v.actor, d)
		return v.Memory.NoteDoubt(ctx, d)
	})
}

func (v *view) Notices(ctx context.Context) (n store.Notices, err error) {
	err = v.call(ctx, func() (err error) { n, err = v.Memory.Notices(ctx); return err })
	return n, err
}

func (v *view) Announce(ctx context.Context, r store.Retirement) error {
	return v.call(ctx, func() error { return v.Memory.Announce(ctx, r) })
}

func (v *view) Decide(ctx context.Context, r store.Retirement, from map[int]int64) (ok bool, err error) {
	err = v.call(ctx, func() (err error) { ok, err = v.Memory.Decide(ctx, r, from); return err })
	return ok, err
}

func (v *view) Withdraw(ctx context.Context, before models.Millis) (ok bool, err error) {
	err = v.call(ctx, func() (err error) { ok, err = v.Memory.Withdraw(ctx, before); return err })
	return ok, err
}

func (v *view) Finish(ctx context.Context, before models.Millis) error {
	return v.call(ctx, func() error { return v.Memory.Finish(ctx, before) })
}

func (v *view) DropVisitors(ctx context.Context, part store.Part, before models.Millis, read func(int)) (d store.Dropped, err error) {
	err = v.call(ctx, func() (err error) { d, err = v.Memory.DropVisitors(ctx, part, before, read); return err })
	v.w.out.Removed += d.Partitions
	return d, err
}

func (v *view) Doubts(ctx context.Context, p models.Partition) (doubts []store.Doubt, err error) {
	if doubts, err = v.Memory.Doubts(ctx, p); v.w.fate.nothingDue(doubts) {
		return doubts, err
	}
	err = v.call(ctx, func() (err error) { doubts, err = v.Memory.Doubts(ctx, p); return err })
	return doubts, err
}

func (v *view) SettleDoubt(ctx context.Context, d store.Doubt) error {
	return v.call(ctx, func() error { return v.Memory.SettleDoubt(ctx, d) })
}

// shrink is a control: instead of adding a minus row, a repair shortens an owner's row.
func (w *world) shrink(writes []store.KeyWrite) []store.KeyWrite {
	for i, write := range writes {
		for j, row := range write.Ledger {
			if row.Kind != store.KindMinus {
				continue
			}
			for _, have := range memstore.SortedRows(w.store.LedgerRows[write.Key]) {
				if have.Kind == store.KindOwner && have.Partition == row.Partition && have.To >= row.To {
					writes[i].Ledger[j] = store.LedgerRow{LedgerID: have.LedgerID, To: row.From - row.To}
				}
			}
		}
	}
	return writes
}
