package cassandra

import (
	"context"
	"errors"
	"fmt"

	"footfall/consumer/cassandra/sweep"
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

// DropVisitors implements store.RetireStore.
func (s *Store) DropVisitors(ctx context.Context, part store.Part, before models.Millis, read func(n int)) (store.Dropped, error) {
	return s.tables().Drop(ctx, part, before, read)
}

// CountMismatches implements store.RetireStore.
func (s *Store) CountMismatches(ctx context.Context, before models.Millis, progress func(string), each func(store.CountMismatch)) error {
	return s.tables().CountMismatches(ctx, before, progress, each)
}

// Forgotten is what Forget removed.
type Forgotten = sweep.Forgotten

// Forget removes the rows of visitors: by guid on all sites, and by IP, as stored, on all links. Counts stay. Then it notifies consumers, so
// that they clear their visitor caches. After an error some rows are removed, and it may be called again. It calls progress now and then,
// from one goroutine.
func (s *Store) Forget(ctx context.Context, guids, ips []string, progress func(Forgotten)) (Forgotten, error) {
	return s.tables().Forget(ctx, guids, ips, progress)
}

// tables are what commands sweep.
func (s *Store) tables() sweep.Tables {
	return sweep.Tables{Session: s.session, Schema: s.schema, InFlight: s.inFlight}
}
