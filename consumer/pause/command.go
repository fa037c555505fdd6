package pause

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// Pauser holds a pause. Not safe for concurrent use.
type Pauser struct {
	Store  store.LeaseStore
	Counts func(models.Partition) bool // whether consumers count a partition; nobody takes over the others
	Settle time.Duration               // after it, a write that nobody waits for any more has landed or was dropped
	Zombie time.Duration               // for so long after a partition was taken from an owner that did not release it, that one may go on writing
	Report func(string, ...any)
}

// How often the state is read while the command waits, and how often it says what for.
const (
	pollEvery = 500 * time.Millisecond
	tellEvery = 5 * time.Second
)

// Run pauses counting into db's tables, and runs do when nothing is written to them any more. It waits for that for at most wait; do has at
// most limit. It returns nil only if nothing was written until do had ended. Then what do has copied is of one state.
func Run(ctx context.Context, cfg configs.Consumer, db store.LeaseStore, wait, limit time.Duration, do func(context.Context) error, log *slog.Logger, report func(string, ...any)) error {
	l, err := eventlog.New(cfg, db, log)
	if err != nil {
		return err
	}
	src, err := l.Sources(ctx)
	if err != nil {
		return err
	}
	settle := db.WriteTimeout() + repair.SettleMargin
	p := &Pauser{Store: db, Counts: src.Counts, Settle: settle, Zombie: zombie(cfg.Kafka.SessionTimeout) + settle, Report: report}
	return p.Run(ctx, wait, limit, do)
}

// zombie is how long a member may go on writing after another has taken its partitions: it notices the loss within the session timeout, and
// its last flush takes 45 s at most. Clocks differ by less than a minute.
func zombie(session time.Duration) time.Duration { return session + 45*time.Second + time.Minute }

// Run pauses counting, as the function Run does.
func (p *Pauser) Run(ctx context.Context, wait, limit time.Duration, do func(context.Context) error) error {
	if err := p.awaitNoHindrance(ctx, wait); err != nil {
		return err
	}
	return held(ctx, p.Store, store.LeasePause, "consumer pause", func(ctx context.Context, own store.Lease) error {
		begun := time.Now()
		before, err := p.awaitRest(ctx, wait)
		if err != nil {
			return whyEnded(ctx, err)
		}
		rested := time.Now()
		p.Report("counting is paused: %d partitions are at rest after %v", len(before.owners), rested.Sub(begun).Round(time.Millisecond))
		limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v (--for)", limit))
		defer cancel()
		if err := do(limited); err != nil {
			return fmt.Errorf("%w: what was copied is not to be used", whyEnded(limited, err))
		}
		judging, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = p.judge(judging, before, own)
		if lost := context.Cause(ctx); err == nil && errors.Is(lost, errLost) {
			err = lost // though nobody wrote that we know of
		}
		if err != nil {
			return fmt.Errorf("%w: do not use what was copied, take it again", whyEnded(ctx, err))
		}
		p.Report("nothing was written from %s to %s: what was copied in that time is whole",
			rested.UTC().Format(time.TimeOnly), time.Now().UTC().Format(time.TimeOnly))
		return nil
	})
}

// whyEnded adds to err why ctx ended, if its error does not say.
func whyEnded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}
	return err
}

// rest is what does not change while nothing is written.
type rest struct {
	owners []store.Owner
	doubts []store.Doubt // a process that wrote without being an owner notes one
}

// mayWrite says what may still be written, though no owner begins it: a write that is in doubt and waits in a node, or those of a process that lost a
// partition, and has not noticed. Its successor, or itself, has noted a doubt.
func (p *Pauser) mayWrite(doubts []store.Doubt, now time.Time) string {
	for _, d := range doubts {
		if d.Checks == 0 {
			why := "writes may still land until consumers, which must be counting, have checked all replicas"
			if d.Reason == store.DoubtUnsettled {
				why = "nobody can check it any more: stop all consumers and accept the gap (consumer accept-gap)"
			}
			return fmt.Sprintf("partition %d of %s is in doubt (%s), and %s", d.Partition.Number, d.Partition.Topic, d.Reason, why)
		}
		if lost := d.Reason == store.DoubtPredecessor || d.Reason == store.DoubtLost; lost && now.Sub(d.NotedAt) < p.Zombie {
			return fmt.Sprintf("partition %d of %s changed hands %v ago without being released: its last owner may still write for %v",
				d.Partition.Number, d.Partition.Topic, now.Sub(d.NotedAt).Round(time.Second), (p.Zombie - now.Sub(d.NotedAt)).Round(time.Second))
		}
	}
	return ""
}

// awaitNoHindrance waits for what keeps a pause from beginning, while consumers go on counting: it may take minutes, or wait for consumers that count.
func (p *Pauser) awaitNoHindrance(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("gave up after %v (--wait)", wait))
	defer cancel()
	var told time.Time
	for last := ""; ; {
		_, busy, err := p.look(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(last, "looking who writes"), whyEnded(ctx, err))
		}
		if last = busy; busy == "" {
			return nil
		}
		if time.Since(told) > tellEvery {
			told = time.Now()
			p.Report("counting is not paused yet: %s", busy)
		}
		if err := retry.Sleep(ctx, pollEvery); err != nil {
			return fmt.Errorf("%s: %w", busy, whyEnded(ctx, err))
		}
	}
}

// look reads who owns what. others says who may write that does not rest when it is asked to: a command, a process that lost a partition, or a node
// that does not answer; empty: nobody.
func (p *Pauser) look(ctx context.Context) (r rest, others string, err error) {
	leases, err := p.Store.Leases(ctx)
	if err != nil {
		return r, "", err
	}
	if i := slices.IndexFunc(leases, func(l store.Lease) bool { return l.Kind == store.LeaseCommand }); i >= 0 {
		return r, leases[i].What + " is running, and writes to the tables", nil
	}
	owners, complete, err := p.Store.ConfirmOwners(ctx)
	if err != nil {
		return r, "", err
	}
	r.owners = owners
	slices.SortFunc(r.owners, func(a, b store.Owner) int { return a.Partition.Compare(b.Partition) })
	for _, o := range r.owners {
		doubts, err := p.Store.Doubts(ctx, o.Partition)
		if err != nil {
			return r, "", err
		}
		slices.SortFunc(doubts, func(a, b store.Doubt) int { return strings.Compare(fmt.Sprint(a.ID), fmt.Sprint(b.ID)) })
		r.doubts = append(r.doubts, doubts...)
	}
	if !complete {
		return r, "a replica in Cassandra does not answer: writes that wait in its node would land when it wakes up", nil
	}
	return r, p.mayWrite(r.doubts, time.Now()), nil
}

// lookForRest is look, and busy is what has to end before all are at rest: also consumers that hold partitions.
func (p *Pauser) lookForRest(ctx context.Context) (r rest, busy string, err error) {
	if r, busy, err = p.look(ctx); err != nil || busy != "" {
		return r, busy, err
	}
	var holding []string
	for _, o := range r.owners {
		if eventlog.Held(o) && p.Counts(o.Partition) {
			holding = append(holding, fmt.Sprintf("partition %d of %s (%s)", o.Partition.Number, o.Partition.Topic, o.Name))
		}
	}
	if n := len(holding); n > 0 {
		busy = fmt.Sprintf("%d partitions are not released, such as %s", n, holding[0])
	}
	return r, busy, nil
}

// awaitRest returns when every partition is released clean, no command writes, and writes that nobody waits for have landed or were dropped.
func (p *Pauser) awaitRest(ctx context.Context, wait time.Duration) (rest, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("gave up after %v (--wait), and counting goes on. A consumer that is"+
		" named here crashed, which the next one settles when counting goes on, or its chunk takes that long", wait))
	defer cancel()
	var told time.Time
	for {
		r, busy, err := p.lookForRest(ctx)
		if err != nil {
			return r, whyEnded(ctx, err)
		}
		if slices.ContainsFunc(r.doubts, func(d store.Doubt) bool { return d.Checks == 0 }) {
			return r, fmt.Errorf("%s; run this again after that", busy)
		}
		if busy == "" {
			if err := retry.Sleep(ctx, p.Settle); err != nil {
				return r, whyEnded(ctx, err)
			}
			again, stirred, err := p.lookForRest(ctx)
			if err != nil {
				return r, whyEnded(ctx, err)
			}
			if busy = cmp.Or(stirred, again.differs(r)); busy == "" {
				return again, nil
			}
		}
		if time.Since(told) > tellEvery {
			told = time.Now()
			p.Report("waiting: %s", busy)
		}
		if err := retry.Sleep(ctx, pollEvery); err != nil {
			return r, fmt.Errorf("waiting: %s: %w", busy, whyEnded(ctx, err))
		}
	}
}

// judge returns an error unless the pause is in force and nobody wrote since before.
func (p *Pauser) judge(ctx context.Context, before rest, own store.Lease) error {
	after, busy, err := p.lookForRest(ctx)
	if err != nil {
		return err
	}
	if busy == "" {
		busy = after.differs(before)
	}
	if busy != "" {
		return errors.New(busy)
	}
	leases, err := p.Store.Leases(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(leases, own) {
		return errors.New("the pause ended before it was over")
	}
	return nil
}

// differs says what has changed since before; empty: nothing.
func (r rest) differs(before rest) string {
	same := func(a, b store.Owner) bool {
		taken := a.TakenAt.Equal(b.TakenAt)
		a.TakenAt, b.TakenAt = time.Time{}, time.Time{}
		return taken && a == b
	}
	for _, o := range r.owners {
		if i := slices.IndexFunc(before.owners, func(b store.Owner) bool { return b.Partition == o.Partition }); i < 0 || !same(o, before.owners[i]) {
			return fmt.Sprintf("partition %d of %s was taken meanwhile, by %s", o.Partition.Number, o.Partition.Topic, o.Name)
		}
	}
	if len(r.owners) != len(before.owners) {
		return "the owners of some partitions are gone"
	}
	if !slices.EqualFunc(r.doubts, before.doubts, func(a, b store.Doubt) bool { return a.ID == b.ID && a.Checks == b.Checks && a.Partition == b.Partition }) {
		return "a doubt was noted or settled meanwhile"
	}
	return ""
}
