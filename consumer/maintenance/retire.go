package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// Retirer retires visitors. Each of its steps is idempotent, so a stopped run can be repeated. Not safe for concurrent use.
type Retirer struct {
	Store   store.RetireStore
	Topic   string
	Sources eventlog.Sources // of the topic and its earlier generations
	Ends    func(context.Context) (map[int]int64, error)
	Group   func(ctx context.Context, topic string) (Counting, error)
	Audit   func(ctx context.Context, walk string) (Audit, error) // of sites; walk is the name that it is resumed by
	Report  Reporter
	Parts   int           // that rows are removed in, at least 1
	Margin  time.Duration // after it, every consumer that counts knows of a notice
	Force   bool          // remove rows even if more visitors have rows than are counted
}

// RunRetire makes consumers refuse visits before a moment from now on, and removes the visitors' rows of intervals that end before it.
// Counts stay. Before it removes anything, it waits until consumers have counted and settled all that the log had, and audits all sites. It
// returns an error if that takes longer than wait, or the audit finds something. After an error some rows may be removed: run it again.
func RunRetire(ctx context.Context, cfg configs.Consumer, db store.RetireStore, before models.Millis, wait time.Duration, force bool, log *slog.Logger, report Reporter) error {
	l, err := eventlog.New(cfg, db, log)
	if err != nil {
		return err
	}
	src, err := l.Sources(ctx)
	if err != nil {
		return err
	}
	visits := src.Newest(cfg.Kafka.Topics.Visits)
	if err := NotGrowing(ctx, l, visits); err != nil {
		return err
	}
	r := &Retirer{
		Store: db, Topic: visits.Topic, Report: report, Margin: store.NoticeMargin, Force: force, Sources: src, Parts: WalkParts,
		Ends: func(ctx context.Context) (map[int]int64, error) {
			ends, err := l.Ends(ctx, visits.Topic, visits.Partitions())
			if err == nil {
				// Consumers that did not know of this retirement may have counted visits of a next generation. If there is none by now, no
				// such visit was written before the announcement.
				err = NotGrowing(ctx, l, visits)
			}
			return ends, err
		},
		Group: func(ctx context.Context, topic string) (Counting, error) {
			return countingOf(ctx, l, src[topic])
		},
		Audit: func(ctx context.Context, walk string) (Audit, error) {
			o := AuditOptions{Only: []models.Keyspace{models.Cardinality}, Walk: walk, Resume: true}
			return RunAudit(ctx, cfg, db, o, log, func(line string) { report("%s", line) })
		},
	}
	return r.Run(ctx, before, wait)
}

// Run retires visitors before a moment, as RunRetire does.
func (r *Retirer) Run(ctx context.Context, before models.Millis, wait time.Duration) error {
	patient, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("gave up after %v (--wait): run this again to go on", wait))
	defer cancel()
	it, err := r.decide(patient, before)
	if err == nil && !it.Done {
		err = r.awaitCounted(patient, it)
	}
	if err != nil {
		if retry.Over(patient) && ctx.Err() == nil {
			err = errors.Join(err, context.Cause(patient))
		}
		return err
	}
	if !it.Done { // without the deadline: this is work, not waiting
		if err := r.audited(ctx, before); err != nil {
			return err
		}
	}
	if err := r.Store.Finish(ctx, before); err != nil {
		return err
	}
	if err := retry.Sleep(ctx, r.Margin); err != nil { // consumers that read old events again must know that their rows may be gone
		return err
	}
	return r.drop(ctx, before)
}

// drop removes the rows, part by part. A repeated run resumes with the parts that are left.
func (r *Retirer) drop(ctx context.Context, before models.Millis) error {
	w := Walker{
		Keyspaces: []models.Keyspace{models.Cardinality}, Parts: r.Parts, AtOnce: WalkAtOnce,
		What: "partitions of visitors", Report: r.Report, name: walkOf(before) + ", removing", resume: true, notes: r.Store,
	}
	var mu sync.Mutex
	var all store.Dropped
	_, err := w.Walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		d, err := r.Store.DropVisitors(ctx, part, before, read)
		mu.Lock()
		defer mu.Unlock()
		all.Partitions, all.Read = all.Partitions+d.Partitions, all.Read+d.Read
		return true, err
	})
	r.Report("%d partitions of visitors removed; %d are left; counts stay as they are", all.Partitions, all.Read-all.Partitions)
	return err
}

// walkOf is the name under which a retirement's walks save their progress.
func walkOf(before models.Millis) string { return "retire " + before.Time().Format(time.DateOnly) }

// decide returns the retirement once it is decided. It announces and decides it if no earlier run did.
func (r *Retirer) decide(ctx context.Context, before models.Millis) (store.Retirement, error) {
	it, err := r.Find(ctx, before)
	if err != nil || it.Done {
		return it, err
	}
	begun, _ := models.SplitGeneration(it.Topic)
	switch base, _ := models.SplitGeneration(r.Topic); {
	case it.Topic != "" && begun != base:
		return it, fmt.Errorf("this retirement was begun while kafka.topics.visits was %s, and now it is %s: run this with %s, so that it"+
			" can check that all of that topic is counted", it.Topic, r.Topic, begun)
	case it.Decided():
		return it, nil
	case it.Topic != "" && it.Topic != r.Topic:
		// The run that announced it stopped before it decided. Consumers withdraw it only when they hold a visit that it may refuse.
		withdrawn, err := r.Store.Withdraw(ctx, before)
		if err == nil && !withdrawn {
			err = errors.New("another consumer retire is running: run this again when it is done")
		}
		if err != nil {
			return it, err
		}
		r.Report("an earlier run announced this for topic %s, but did not decide it: announcing it again for %s", it.Topic, r.Topic)
	}
	if it.Topic != r.Topic { // else it is announced. Never announce that ID again: a consumer may have withdrawn it by now
		it = store.Retirement{Before: before, Topic: r.Topic, ID: rand.Int64()}
		if err := r.Store.Announce(ctx, it); err != nil {
			return it, err
		}
	}
	r.Report("announced: visits before %s will be refused", before.Time().Format(time.DateOnly))
	if err := retry.Sleep(ctx, r.Margin); err != nil { // after that, every consumer that counts such visits knows of it
		return it, err
	}
	from, err := r.Ends(ctx)
	if err != nil {
		return it, err
	}
	ok, err := r.Store.Decide(ctx, it, from)
	if err != nil {
		return it, err
	}
	if !ok {
		return it, errors.New("a consumer withdrew this retirement, since it waited too long, or another consumer retire is running: run this again")
	}
	return r.Find(ctx, before)
}

// Find reads a retirement from the store; the zero one if it is not announced.
func (r *Retirer) Find(ctx context.Context, before models.Millis) (store.Retirement, error) {
	notices, err := r.Store.Notices(ctx)
	if err != nil {
		return store.Retirement{}, err
	}
	if i := slices.IndexFunc(notices.Retirements, func(o store.Retirement) bool { return o.Before == before }); i >= 0 {
		return notices.Retirements[i], nil
	}
	return store.Retirement{}, nil
}

// Intervals of commands that wait for consumers.
const (
	PollInterval  = 500 * time.Millisecond // between two checks
	ProgressEvery = 5 * time.Second        // between two reports
)

// awaitCounted returns when all visits before the retirement are counted and free of doubt. If ctx ends first, the error says what is missing.
func (r *Retirer) awaitCounted(ctx context.Context, it store.Retirement) error {
	var told time.Time
	for {
		why, err := r.blockedBy(ctx, it)
		if err != nil {
			return err
		}
		if why == "" {
			return nil
		}
		if time.Since(told) > ProgressEvery {
			told = time.Now()
			r.Report("waiting: %s", why)
		}
		if err := retry.Sleep(ctx, PollInterval); err != nil {
			return fmt.Errorf("waiting: %s: %w", why, err)
		}
	}
}

// audited returns an error if an audit finds keys that are off: their repair needs the rows. It audits sites only, since links have no such rows.
func (r *Retirer) audited(ctx context.Context, before models.Millis) error {
	r.Report("all visits up to the retirement are counted; auditing")
	a, err := r.Audit(ctx, walkOf(before))
	if err != nil {
		return err
	}
	if a.Off > a.Repaired || a.Unreadable > 0 {
		return fmt.Errorf("the audit of %d keys found %d off, and %d stretches that the log no longer has: repairing needs the rows, so nothing"+
			" is removed; run consumer audit --repair first, and consumer accept-gap for what it cannot repair", a.Keys, a.Off, a.Unreadable)
	}
	if err := r.compareRows(ctx, before); err != nil {
		return err
	}
	r.Report("the audit of %d keys is clean", a.Keys)
	return nil
}

// compareRows compares counts with the rows to be removed. Fewer rows than counted visitors are normal after forget, or after a stopped retire.
func (r *Retirer) compareRows(ctx context.Context, before models.Millis) error {
	more, fewer := 0, 0
	tell := func(line string) { r.Report("%s", line) }
	err := r.Store.CountMismatches(ctx, before, tell, func(u store.CountMismatch) {
		if u.Rows > u.Counted {
			more++
		} else {
			fewer++
		}
		if more+fewer <= maxDiffering {
			r.Report("%s: %d visitors have rows, %d are counted", describeCell(u.Key, u.Cell), u.Rows, u.Counted)
		}
	})
	switch {
	case err != nil:
		return err
	case more > 0 && !r.Force:
		return fmt.Errorf("%d counts are lower than the visitors that have rows, so nothing is removed: consumer rebuild shows which is"+
			" right; --force removes the rows all the same", more)
	case more+fewer > 0:
		r.Report("%d counts are higher than the visitors that have rows, which is normal after consumer forget; %d are lower", fewer, more)
	}
	return nil
}

// blockedBy describes what has to happen before rows may be removed; empty if nothing.
func (r *Retirer) blockedBy(ctx context.Context, it store.Retirement) (string, error) {
	group, err := r.Group(ctx, it.Topic)
	if err != nil {
		return "", err
	}
	left, doubts := int64(0), 0
	count := func(p models.Partition, below int64) error {
		open, err := r.Store.Doubts(ctx, p)
		for _, d := range open {
			if d.From < below && d.Reason != store.DoubtUnsettled { // the audit tells of the others
				doubts++
			}
		}
		return err
	}
	for number, from := range it.From {
		left += max(0, from-group.To[number])
		if err := count(models.Partition{Topic: it.Topic, Number: number}, from); err != nil {
			return "", err
		}
	}
	for _, p := range r.Sources.Before(it.Topic) {
		if err := count(p, math.MaxInt64); err != nil {
			return "", err
		}
	}
	nobody := ""
	if group.Members == 0 {
		nobody = "; nobody counts: the group has no members, start a consumer"
	}
	switch {
	case left > 0:
		return fmt.Sprintf("%d visits are not counted yet%s", left, nobody), nil
	case doubts > 0:
		return fmt.Sprintf("%d doubts about visits are open; consumers settle them in about ten minutes%s", doubts, nobody), nil
	}
	return "", nil
}
