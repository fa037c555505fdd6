package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// LedgerTopic is the topic that remembers which letters of a topic of dead letters were sent again.
func LedgerTopic(dead string) string { return dead + "-replayed" }

// ledger is the memory of all replays: a Kafka topic of one partition, so that its records have one order. It lies beside the log, not beside
// the tables: what was sent stays sent when tables are restored or rebuilt. Not safe for concurrent use.
type ledger struct {
	*book
	via    dial.Kafka
	at     models.Partition
	run    string // this run, unlike all others
	append appender

	next    int64 // the offset of the next record, unless another run writes
	intents int   // so far
	claimed time.Time
}

// appender is raw.Append.
type appender func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error)

// errTaken says that another replay has begun. Of several the last one sends.
var errTaken = errors.New("another replay has begun, and this one stops: of several at a time the last one sends")

func newLedger(via dial.Kafka, topic string, write appender) *ledger {
	return &ledger{book: newBook(), via: via, at: models.Partition{Topic: topic}, run: uuid.NewString(), append: write}
}

// look reads the ledger without claiming it. A ledger that does not exist is empty.
func (l *ledger) look(ctx context.Context) error {
	err := l.check(ctx)
	if errors.Is(err, topics.ErrMissing) {
		return nil
	}
	if err == nil {
		_, _, err = l.readTo(ctx, math.MaxInt64)
	}
	return err
}

// check returns an error if the topic may forget what was sent.
func (l *ledger) check(ctx context.Context) error {
	n, err := topics.Partitions(ctx, l.via, l.at.Topic)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("topic %s has %d partitions: the ledger of replays needs one, so that its records have one order", l.at.Topic, n)
	}
	config, err := topics.Config(ctx, l.via, l.at.Topic, "cleanup.policy")
	if err != nil {
		return err
	}
	if policy := config["cleanup.policy"]; policy != "compact" {
		return fmt.Errorf("topic %s has cleanup.policy=%s: Kafka would delete what was sent, and it would be sent once more. Set it to compact", l.at.Topic, policy)
	}
	return nil
}

// open claims the ledger for this run and reads it. From then on no other run sends a batch that it has not announced yet. It is called again
// after a failure: then it returns errTaken, and claims nothing, if another run has begun meanwhile. A claim would end that run as well.
func (l *ledger) open(ctx context.Context, what claim) error {
	if !l.claimed.IsZero() {
		if err := l.stillOurs(ctx); err != nil {
			return err
		}
	}
	base, err := l.append(ctx, l.at, []kafka.Record{record(runKey+l.run, what)})
	if err != nil {
		return err
	}
	l.claimed = time.Now()
	if _, _, err = l.readTo(ctx, base); err == nil { // other runs that claimed it before will learn of this one, and end
		l.next = base + 1
	}
	return err
}

// stillOurs reads the ledger to its end. It returns errTaken if another run has claimed it, or may have.
func (l *ledger) stillOurs(ctx context.Context) error {
	bounds, err := eventlog.Bounds(ctx, l.via, []models.Partition{l.at})
	if err != nil {
		return err
	}
	end := bounds[l.at].To
	if err = l.catchUp(ctx, end); err == nil {
		l.next = end
	}
	return err
}

// readTo adds the records from l.next up to an offset to the book. others: another run has claimed the ledger there.
func (l *ledger) readTo(ctx context.Context, to int64) (n int64, others bool, err error) {
	got, err := raw.Read(ctx, l.via, l.at, eventlog.Span{From: l.next, To: to}, func(m kafka.Message) error {
		n++
		by, err := l.add(m)
		others = others || by != "" && by != l.run
		return err
	})
	if err == nil && got.To < to && to != math.MaxInt64 {
		err = fmt.Errorf("it ends at %d, and has a record at %d", got.To, to)
	}
	if err != nil {
		return n, others, fmt.Errorf("reading the ledger of replays: %w", err)
	}
	return n, others, nil
}

// catchUp reads what others wrote since this run's last record. It returns errTaken if another run has claimed the ledger, or may have: if this
// process was asleep for days, compaction may have removed records.
func (l *ledger) catchUp(ctx context.Context, base int64) error {
	if base < l.next {
		return fmt.Errorf("topic %s has lost records: it ended at %d, and ends at %d now", l.at.Topic, l.next, base)
	}
	if base == l.next {
		return nil
	}
	n, others, err := l.readTo(ctx, base)
	if err == nil && (others || n < base-l.next) {
		err = errTaken
	}
	return err
}

// write appends records. It returns errTaken if another run has claimed the ledger before them. Then the records are there all the same.
func (l *ledger) write(ctx context.Context, records ...kafka.Record) error {
	base, err := l.append(ctx, l.at, records)
	if err != nil {
		return err
	}
	if err := l.catchUp(ctx, base); err != nil {
		return err
	}
	l.next = base + int64(len(records))
	return nil
}

// intend announces a batch.
func (l *ledger) intend(ctx context.Context, in intent) (key string, err error) {
	l.intents++
	key = fmt.Sprintf("%s%s/%d", intentKey, l.run, l.intents)
	l.pending[key] = in // even if the write fails: it may be in the ledger
	return key, l.write(ctx, record(key, in))
}

// settle writes down which letters were sent, and that these intents are done.
func (l *ledger) settle(ctx context.Context, letters map[models.Position]models.Position, intents []string) error {
	now := time.Now().UTC()
	var records []kafka.Record
	for _, key := range intents {
		records = append(records, record(key, nil))
	}
	for origin, place := range letters { // last: compaction removes the others, and a batch that lacks its last records takes longer to read
		records = append(records, record(sentKey+deadletters.Name(origin), sent{now, place.Topic, place.Partition, place.Offset}))
	}
	if len(records) == 0 {
		return nil
	}
	err := l.write(ctx, records...)
	if err != nil && !errors.Is(err, errTaken) {
		return err
	}
	for origin, place := range letters {
		l.note(origin, place)
	}
	for _, key := range intents {
		delete(l.pending, key)
	}
	return err
}
