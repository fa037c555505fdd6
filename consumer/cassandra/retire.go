package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

var _ store.RetireStore = (*Store)(nil)

// The states of a retirement.
const (
	announced = "announced"
	decided   = "decided"
	done      = "done"
)

// Notices implements store.Store: two partitions of a few rows.
func (s *Store) Notices(ctx context.Context) (n store.Notices, err error) {
	scanner := s.session.Query(`SELECT before, state, topic, offsets FROM ` + s.names.Footfall + `.retired WHERE name = 'visits'`).
		WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		var before time.Time
		var state string
		var r store.Retirement
		if err := scanner.Scan(&before, &state, &r.Topic, &r.From); err != nil {
			return n, fmt.Errorf("reading what is retired: %w", err)
		}
		if state == announced {
			r.ID, r.From = r.From[announcement], nil
		}
		r.Before, r.Done = models.Millis(before.UnixMilli()), state == done
		n.Retirements = append(n.Retirements, r)
	}
	if err := scanner.Err(); err != nil {
		return n, fmt.Errorf("reading what is retired: %w", markDisconnected(err))
	}
	err = s.session.Query(`SELECT version FROM ` + s.names.Footfall + `.forgotten WHERE name = 'visitors'`).
		WithContext(ctx).Scan(&n.Forgotten)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return n, fmt.Errorf("reading whether visitors were forgotten: %w", markDisconnected(err))
	}
	return n, nil
}

// announcement is a key in the column offsets, in place of a partition: its value is the announcement's ID, until the offsets are decided.
const announcement = -1

// announcedAs is the value of the column offsets of an announcement; null if it has no ID, as in older versions.
func announcedAs(r store.Retirement) map[int]int64 {
	if r.ID == 0 {
		return nil
	}
	return map[int]int64{announcement: r.ID}
}

// Announce implements store.RetireStore. States change by lightweight transaction, so a decided retirement stays decided.
func (s *Store) Announce(ctx context.Context, r store.Retirement) error {
	_, err := s.cas(ctx, `INSERT INTO `+s.names.Footfall+`.retired (name, before, state, topic, offsets) VALUES ('visits', ?, ?, ?, ?)`+
		` IF NOT EXISTS`, r.Before.Time(), announced, r.Topic, announcedAs(r))
	if err != nil {
		return fmt.Errorf("announcing a retirement: %w", err)
	}
	return nil
}

// Decide implements store.RetireStore.
func (s *Store) Decide(ctx context.Context, r store.Retirement, from map[int]int64) (bool, error) {
	ok, err := s.cas(ctx, `UPDATE `+s.names.Footfall+`.retired SET state = ?, offsets = ? WHERE name = 'visits' AND before = ?`+
		` IF state = ? AND topic = ? AND offsets = ?`, decided, from, r.Before.Time(), announced, r.Topic, announcedAs(r))
	if err != nil {
		return false, fmt.Errorf("deciding a retirement: %w", err)
	}
	return ok, nil
}

// Withdraw implements store.Store.
func (s *Store) Withdraw(ctx context.Context, before models.Millis) (bool, error) {
	ok, err := s.cas(ctx, `DELETE FROM `+s.names.Footfall+`.retired WHERE name = 'visits' AND before = ? IF state = ?`,
		before.Time(), announced)
	if err != nil {
		return false, fmt.Errorf("withdrawing a retirement: %w", err)
	}
	return ok, nil
}

// Finish implements store.RetireStore.
func (s *Store) Finish(ctx context.Context, before models.Millis) error {
	ok, err := s.cas(ctx, `UPDATE `+s.names.Footfall+`.retired SET state = ? WHERE name = 'visits' AND before = ? IF state IN (?, ?)`,
		done, before.Time(), decided, done)
	if err == nil && !ok {
		err = errors.New("the retirement is not decided")
	}
	if err != nil {
		return fmt.Errorf("finishing a retirement: %w", err)
	}
	return nil
}

// Committed implements store.Store.
func (s *Store) Committed(ctx context.Context, p models.Partition) (committed int64, err error) {
	err = s.session.Query(`SELECT committed FROM `+s.names.Footfall+`.owners WHERE topic = ? AND kafka_partition = ?`,
		p.Topic, p.Number).WithContext(ctx).Scan(&committed)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return 0, fmt.Errorf("reading owners: %w", err)
	}
	return committed, nil
}

// dropAtOnce is how many partitions are collected before they are removed.
const dropAtOnce = 1000

// clockSpread is how much the clocks of processes may differ.
const clockSpread = time.Minute

// DropVisitors implements store.RetireStore. A partition holds visitors of one interval, and is deleted as a whole: that leaves one
// tombstone, however many rows it had. Consumers write no rows of such intervals any more, so the tombstone's timestamp may lie in the future.
func (s *Store) DropVisitors(ctx context.Context, part store.Part, before models.Millis, read func(n int)) (store.Dropped, error) {
	var d store.Dropped
	var gathered []visitorPartition
	asOf := time.Now().Add(clockSpread).UnixMicro() // the clock of the consumer that wrote a row may be ahead of ours
	drop := func() error {
		err := s.each(ctx, len(gathered), func(ctx context.Context, i int) error {
			return s.session.Query(`DELETE FROM `+s.names.Cardinality+`.GuidData USING TIMESTAMP ? WHERE siteId = ? AND interval_size = ?`+
				` AND interval_start = ? AND bucket = ?`, append([]any{asOf}, gathered[i].args()...)...).WithContext(ctx).Exec()
		})
		if err == nil {
			d.Partitions += len(gathered)
			gathered = gathered[:0]
		}
		return err
	}
	err := s.eachVisitorPartition(ctx, partOfRing(part), func(p visitorPartition) error {
		d.Read++
		read(1)
		if models.IntervalEnd(p.interval, p.start) <= before {
			gathered = append(gathered, p)
		}
		if len(gathered) >= dropAtOnce {
			return drop()
		}
		return nil
	})
	if err == nil {
		err = drop()
	}
	if err != nil {
		return d, fmt.Errorf("removing visitors: %w", err)
	}
	return d, nil
}

// eachVisitorPartition calls each with every partition of visitors of sites in a part of the ring.
func (s *Store) eachVisitorPartition(ctx context.Context, b between, each func(visitorPartition) error) error {
	const partitionKey = `siteId, interval_size, interval_start, bucket`
	p := visitorPartition{keyspace: models.Cardinality}
	var start time.Time
	scanner := s.session.Query(`SELECT DISTINCT ` + partitionKey + ` FROM ` + s.names.Cardinality + `.GuidData` + b.where(partitionKey)).
		WithContext(ctx).PageSize(1000).RetryPolicy(patience).Iter().Scanner()
	for scanner.Next() {
		if err := scanner.Scan(&p.name, &p.interval, &start, &p.bucket); err != nil {
			return err
		}
		p.start = models.Millis(start.UnixMilli())
		if err := each(p); err != nil {
			return err
		}
	}
	return scanner.Err()
}
