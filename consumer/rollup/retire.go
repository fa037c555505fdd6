package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// retirer retires visitors, step by step, each of which can be taken again.
type retirer struct {
	store  store.RetireStore
	topic  string
	ends   func(context.Context) (map[int]int64, error)
	group  func(ctx context.Context, topic string) (counting, error)
	before func(topic string) []models.Partition                 // those of earlier generations; nil: there are none
	audit  func(ctx context.Context, walk string) (Audit, error) // of sites; walk is its name
	report func(string, ...any)
	parts  int           // that rows are removed in; 0: one
	margin time.Duration // until nobody decides without a notice
	force  bool          // though rows tell of more visitors than are counted
}

// counting is how far a group is in the topic of visits.
type counting struct {
	members int
	to      map[int]int64
}

// RunRetire refuses visits before a moment from now on, and removes the rows that remember visitors of intervals that are over
// by then. Before it removes anything, all that the log held is counted and settled, and an audit finds nothing off; it waits
// for that as long as wait allows. Counts stay. An error leaves all rows in place, or some: to run it again goes on.
func RunRetire(ctx context.Context, cfg configs.Consumer, db store.RetireStore, before models.Millis, wait time.Duration, force bool, log *slog.Logger, report func(string, ...any)) error {
	c, err := New(cfg, db, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer func() { _ = c.dead.close() }()
	src, err := c.sources(ctx)
	if err != nil {
		return err
	}
	visits := src.newest(cfg.Kafka.Topics.Visits)
	if err := c.notGrowing(ctx, visits); err != nil {
		return err
	}
	r := &retirer{
		store: db, topic: visits.topic, report: report, margin: store.NoticeMargin, force: force, before: src.before,
		ends: func(ctx context.Context) (map[int]int64, error) {
			ends, err := c.ends(ctx, visits.topic, visits.partitions())
			if err == nil {
				// Visits of a next generation may have been counted by those who did not know of this. If there is none by now, there is
				// none that was written before it was announced.
				err = c.notGrowing(ctx, visits)
			}
			return ends, err
		},
		group: func(ctx context.Context, topic string) (counting, error) {
			return c.counting(ctx, db, topic, src[topic].partitions())
		},
		parts: walkParts,
		audit: func(ctx context.Context, walk string) (Audit, error) {
			o := AuditOptions{Only: []models.Keyspace{models.Cardinality}, Walk: walk, Resume: true}
			return RunAudit(ctx, cfg, db, o, log, func(line string) { report("%s", line) })
		},
	}
	return r.run(ctx, before, wait)
}

func (r *retirer) run(ctx context.Context, before models.Millis, wait time.Duration) error {
	patient, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("gave up after %v (--wait); to run it again goes on", wait))
	defer cancel()
	it, err := r.decide(patient, before)
	if err == nil && !it.Done {
		err = r.counted(patient, it)
	}
	if err != nil {
		if patient.Err() != nil && ctx.Err() == nil {
			err = errors.Join(err, context.Cause(patient))
		}
		return err
	}
	if !it.Done { // what takes long here is work, not waiting
		if err := r.whole(ctx, before); err != nil {
			return err
		}
	}
	if err := r.store.Finish(ctx, before); err != nil {
		return err
	}
	if err := sleep(ctx, r.margin); err != nil { // consumers that meet old events again must know
		return err
	}
	return r.drop(ctx, before)
}

// drop removes the rows, part by part. One who was stopped goes on with the parts that are left.
func (r *retirer) drop(ctx context.Context, before models.Millis) error {
	w := walker{
		keyspaces: []models.Keyspace{models.Cardinality}, parts: max(1, r.parts), atOnce: min(max(1, r.parts), walkAtOnce),
		what: "partitions of visitors", report: r.report, name: walkOf(before) + ", removing", resume: true, notes: r.store,
	}
	var mu sync.Mutex
	var all store.Dropped
	_, err := w.walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		d, err := r.store.DropVisitors(ctx, part, before, read)
		mu.Lock()
		defer mu.Unlock()
		all.Partitions, all.Read = all.Partitions+d.Partitions, all.Read+d.Read
		return true, err
	})
	r.report("%d partitions of visitors removed; %d are left; counts stay as they are", all.Partitions, all.Read-all.Partitions)
	return err
}

// walkOf names the walks of a retirement, which are gone on with after a stop.
func walkOf(before models.Millis) string { return "retire " + before.Time().Format(time.DateOnly) }

// decide finds the retirement, or makes it one that is decided.
func (r *retirer) decide(ctx context.Context, before models.Millis) (store.Retirement, error) {
	it, err := r.find(ctx, before)
	if err != nil || it.Done {
		return it, err
	}
	begun, _ := models.SplitGeneration(it.Topic)
	switch base, _ := models.SplitGeneration(r.topic); {
	case it.Topic != "" && begun != base:
		return it, fmt.Errorf("this was begun while visits were in topic %s, now they are in %s (kafka.topics): run it with that one, to"+
			" see that all of it is counted", it.Topic, r.topic)
	case it.Decided():
		return it, nil
	case it.Topic != "" && it.Topic != r.topic:
		// Whoever announced it never decided. Consumers give it up only when a visit that it speaks of comes by.
		given, err := r.store.Withdraw(ctx, before)
		if err == nil && !given {
			err = errors.New("another retire runs: run it again")
		}
		if err != nil {
			return it, err
		}
		r.report("this was announced before %s followed %s, and not decided: it is announced anew", r.topic, it.Topic)
	}
	if it.Topic != r.topic { // else it is, and not again under that ID: it may be given up by now
		it = store.Retirement{Before: before, Topic: r.topic, ID: rand.Int64()}
		if err := r.store.Announce(ctx, it); err != nil {
			return it, err
		}
	}
	r.report("announced: visits before %s will be refused", before.Time().Format(time.DateOnly))
	if err := sleep(ctx, r.margin); err != nil { // from here on nobody counts such visits without knowing
		return it, err
	}
	from, err := r.ends(ctx)
	if err != nil {
		return it, err
	}
	ok, err := r.store.Decide(ctx, it, from)
	if err != nil {
		return it, err
	}
	if !ok {
		return it, errors.New("a consumer gave up waiting for this, or another retire runs: run it again")
	}
	return r.find(ctx, before)
}

func (r *retirer) find(ctx context.Context, before models.Millis) (store.Retirement, error) {
	notices, err := r.store.Notices(ctx)
	if err != nil {
		return store.Retirement{}, err
	}
	if i := slices.IndexFunc(notices.Retirements, func(o store.Retirement) bool { return o.Before == before }); i >= 0 {
		return notices.Retirements[i], nil
	}
	return store.Retirement{}, nil
}

// How often it is looked whether consumers are done, and how often something is said meanwhile.
const (
	retireInterval = 500 * time.Millisecond
	progressEvery  = 5 * time.Second
)

// counted returns when all that was in the log before the retirement is counted for good, or with the reason why it is not.
func (r *retirer) counted(ctx context.Context, it store.Retirement) error {
	var told time.Time
	for {
		why, err := r.missing(ctx, it)
		if err != nil {
			return err
		}
		if why == "" {
			return nil
		}
		if time.Since(told) > progressEvery {
			told = time.Now()
			r.report("waiting: %s", why)
		}
		if err := sleep(ctx, retireInterval); err != nil {
			return fmt.Errorf("waiting: %s: %w", why, err)
		}
	}
}

// whole fails unless an audit finds nothing that a repair would need the rows for. No link is asked: the rows are of sites.
func (r *retirer) whole(ctx context.Context, before models.Millis) error {
	r.report("all visits up to the retirement are counted; auditing")
	a, err := r.audit(ctx, walkOf(before))
	if err != nil {
		return err
	}
	if a.Off > a.Repaired || a.Unreadable > 0 {
		return fmt.Errorf("the audit of %d keys found %d off: mending them would need the rows, so nothing is removed; run consumer"+
			" audit --repair first", a.Keys, a.Off)
	}
	if err := r.even(ctx, before); err != nil {
		return err
	}
	r.report("the audit of %d keys is clean", a.Keys)
	return nil
}

// even compares counts with the rows that are about to go. Fewer rows are what forget leaves behind, or a retire that was stopped.
func (r *retirer) even(ctx context.Context, before models.Millis) error {
	more, fewer := 0, 0
	tell := func(line string) { r.report("%s", line) }
	err := r.store.CountMismatches(ctx, before, tell, func(u store.CountMismatch) {
		if u.Rows > u.Counted {
			more++
		} else {
			fewer++
		}
		if more+fewer <= maxDiffering {
			r.report("%s: %d visitors have rows, %d are counted", describeCell(u.Key, u.Cell), u.Rows, u.Counted)
		}
	})
	switch {
	case err != nil:
		return err
	case more > 0 && !r.force:
		return fmt.Errorf("%d counts are lower than the visitors that have rows, so nothing is removed: consumer rebuild tells which is"+
			" right; --force removes the rows all the same", more)
	case more+fewer > 0:
		r.report("%d counts are higher than the visitors that have rows, as forget leaves them, %d lower", fewer, more)
	}
	return nil
}

// missing says what has to happen before rows may go; empty if nothing.
func (r *retirer) missing(ctx context.Context, it store.Retirement) (string, error) {
	group, err := r.group(ctx, it.Topic)
	if err != nil {
		return "", err
	}
	left, doubts := int64(0), 0
	for number, from := range it.From {
		left += max(0, from-group.to[number])
		open, err := r.store.Doubts(ctx, models.Partition{Topic: it.Topic, Number: number})
		if err != nil {
			return "", err
		}
		for _, d := range open {
			if d.From < from {
				doubts++
			}
		}
	}
	if r.before != nil {
		for _, p := range r.before(it.Topic) {
			open, err := r.store.Doubts(ctx, p)
			if err != nil {
				return "", err
			}
			doubts += len(open)
		}
	}
	nobody := ""
	if group.members == 0 {
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

// notGrowing refuses while visits go on as a next generation, or the last one is not counted.
func (c *Consumer) notGrowing(ctx context.Context, visits *source) error {
	base, _ := models.SplitGeneration(visits.topic)
	found, err := topics.Generations(ctx, c.kafka, base)
	if err != nil {
		return err
	}
	growing := found[len(found)-1].Topic != visits.topic
	if !growing && visits.before != nil {
		counted, err := countedToSeal(ctx, c.store, visits.before)
		if err != nil {
			return err
		}
		growing = !counted
	}
	if growing {
		return fmt.Errorf("topic %s is being grown: wait until consumer grow is done, then run this again", base)
	}
	return nil
}

// ends are the offsets after the last messages of a topic.
func (c *Consumer) ends(ctx context.Context, topic string, n int) (map[int]int64, error) {
	var partitions []models.Partition
	for number := range n {
		partitions = append(partitions, models.Partition{Topic: topic, Number: number})
	}
	bounds, err := logBounds(ctx, c.kafka, partitions)
	if err != nil {
		return nil, err
	}
	ends := map[int]int64{}
	for p, s := range bounds {
		ends[p.Number] = s.to
	}
	return ends, nil
}

// counting asks how far the group is, and whether it has members.
func (c *Consumer) counting(ctx context.Context, store store.Store, topic string, n int) (counting, error) {
	var partitions []models.Partition
	for number := range n {
		partitions = append(partitions, models.Partition{Topic: topic, Number: number})
	}
	at, err := c.committed(ctx, store, c.cfg.Kafka.Group, partitions)
	if err != nil {
		return counting{}, err
	}
	out := counting{to: map[int]int64{}}
	for p, to := range at {
		out.to[p.Number] = to
	}
	out.members, err = c.members(ctx)
	return out, err
}
