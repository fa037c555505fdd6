package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"footfall/consumer/store"
	"footfall/internal/cql"
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
	var state string
	var r store.Retirement
	query := s.session.Query(`SELECT before, state, topic, offsets FROM ` + s.names.Footfall + `.retired WHERE name = 'visits'`).WithContext(ctx)
	err = cql.Each(query, func() error {
		told := r
		if told.Done = state == done; state == announced {
			told.ID, told.From = r.From[announcement], nil
		}
		n.Retirements = append(n.Retirements, told)
		return nil
	}, &r.Before, &state, &r.Topic, &r.From)
	if err != nil {
		return n, fmt.Errorf("reading what is retired: %w", markDisconnected(err))
	}
	err = s.read(ctx, "whether visitors were forgotten", &n.Forgotten, `SELECT version FROM `+s.names.Footfall+`.forgotten WHERE name = 'visitors'`)
	return n, err
}

// announcement is a key in the column offsets, in place of a partition: its value is the announcement's ID, until the offsets are decided.
const announcement = -1

// Announce implements store.RetireStore. States change by lightweight transaction, so a decided retirement stays decided.
func (s *Store) Announce(ctx context.Context, r store.Retirement) error {
	_, err := s.cas(ctx, "announcing a retirement", `INSERT INTO `+s.names.Footfall+`.retired (name, before, state, topic, offsets)`+
		` VALUES ('visits', ?, ?, ?, ?) IF NOT EXISTS`, r.Before.Time(), announced, r.Topic, map[int]int64{announcement: r.ID})
	return err
}

// Decide implements store.RetireStore.
func (s *Store) Decide(ctx context.Context, r store.Retirement, from map[int]int64) (bool, error) {
	return s.cas(ctx, "deciding a retirement", `UPDATE `+s.names.Footfall+`.retired SET state = ?, offsets = ? WHERE name = 'visits' AND before = ?`+
		` IF state = ? AND topic = ? AND offsets = ?`, decided, from, r.Before.Time(), announced, r.Topic, map[int]int64{announcement: r.ID})
}

// Withdraw implements store.Store.
func (s *Store) Withdraw(ctx context.Context, before models.Millis) (bool, error) {
	return s.cas(ctx, "withdrawing a retirement", `DELETE FROM `+s.names.Footfall+`.retired WHERE name = 'visits' AND before = ? IF state = ?`,
		before.Time(), announced)
}

// Finish implements store.RetireStore.
func (s *Store) Finish(ctx context.Context, before models.Millis) error {
	const doing = "finishing a retirement"
	ok, err := s.cas(ctx, doing, `UPDATE `+s.names.Footfall+`.retired SET state = ? WHERE name = 'visits' AND before = ? IF state IN (?, ?)`,
		done, before.Time(), decided, done)
	if err == nil && !ok {
		err = errors.New(doing + ": the retirement is not decided")
	}
	return err
}

// dropAtOnce is how many partitions are collected before they are removed.
const dropAtOnce = 1000

// clockSpread is how much the clocks of processes may differ.
const clockSpread = time.Minute

// DropVisitors implements store.RetireStore. A partition holds visitors of one month, and is deleted as a whole: that leaves one
// tombstone, however many rows it had. Consumers write no rows of such months any more, so the tombstone's timestamp may lie in the future.
func (s *Store) DropVisitors(ctx context.Context, part store.Part, before models.Millis, read func(n int)) (store.Dropped, error) {
	var d store.Dropped
	var gathered []visitorPartition
	asOf := time.Now().Add(clockSpread).UnixMicro() // the clock of the consumer that wrote a row may be ahead of ours
	visitors, where := s.visitors()
	drop := func() error {
		err := s.each(ctx, len(gathered), func(ctx context.Context, i int) error {
			return s.session.Query(`DELETE FROM `+visitors+` USING TIMESTAMP ?`+where, append([]any{asOf}, gathered[i].Args()...)...).WithContext(ctx).Exec()
		})
		if err == nil {
			d.Partitions += len(gathered)
			gathered = gathered[:0]
		}
		return err
	}
	err := s.eachPartition(ctx, tokensOf(part), func(p visitorPartition) error {
		d.Read++
		read(1)
		if over(p.Month, before) {
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

// visitors has the name of the table of sites' visitors, and the condition that selects a partition of it.
func (s *Store) visitors() (name, where string) {
	return s.schema.Name(guidData), " WHERE " + s.schema.Equal(guidData.Partition)
}

// over tells whether nobody is counted by the rows of a month any more.
func over(month, before models.Millis) bool {
	return models.IntervalEnd(models.IntervalMonth, month) <= before
}

// eachPartition calls each with every partition of visitors of sites in a range of the ring.
func (s *Store) eachPartition(ctx context.Context, r tokenRange, each func(visitorPartition) error) error {
	key := s.schema.List(guidData.Partition)
	var p visitorPartition
	return cql.Each(s.session.Query(`SELECT DISTINCT `+key+` FROM `+s.schema.Name(guidData)+r.where(key)).WithContext(ctx).PageSize(1000).
		RetryPolicy(patience), func() error { return each(p) }, &p.Site, &p.Month, &p.Bucket)
}
