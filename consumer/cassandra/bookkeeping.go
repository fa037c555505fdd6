package cassandra

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/internal/retry"
	"footfall/migrations"
	"footfall/models"
)

// exec runs a statement. doing says in an error what it was for.
func (s *Store) exec(ctx context.Context, doing, statement string, args ...any) error {
	if err := s.session.Query(statement, args...).WithContext(ctx).Exec(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// cas runs a lightweight transaction. False without error: its condition was not met.
func (s *Store) cas(ctx context.Context, doing, statement string, args ...any) (bool, error) {
	ok, err := s.session.Query(statement, args...).WithContext(ctx).MapScanCAS(map[string]any{})
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return ok, nil
}

// read reads the only column of the only row; without a row into stays as it is.
func (s *Store) read(ctx context.Context, what string, into any, statement string, args ...any) error {
	if err := cql.One(s.session.Query(statement, args...).WithContext(ctx), into); err != nil {
		return fmt.Errorf("reading %s: %w", what, markDisconnected(err))
	}
	return nil
}

// listOf has all rows of a query. what is for errors; into says where the columns of a row go.
func listOf[T any](query *gocql.Query, what string, into func(*T) []any) ([]T, error) {
	rows, err := cql.All(query, into)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, markDisconnected(err))
	}
	return rows, nil
}

// Take implements store.Store by lightweight transaction. A transaction that failed may have been applied all the same: the next Take then
// gets one more epoch, which does no harm.
func (s *Store) Take(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	doing := fmt.Sprintf("taking partition %d of %s", p.Number, p.Topic)
	for {
		t := store.Tenure{Partition: p, Owner: owner}
		var lastOwner string
		var clean, ok bool
		// A read at LOCAL_SERIAL completes a predecessor's unfinished transaction.
		err := s.session.Query(`SELECT epoch, owner, clean, committed FROM `+s.names.Footfall+`.owners WHERE topic = ? AND kafka_partition = ?`, p.Topic, p.Number).
			Consistency(gocql.Consistency(gocql.LocalSerial)).WithContext(ctx).Scan(&t.Before, &lastOwner, &clean, &t.Committed)
		switch {
		case errors.Is(err, gocql.ErrNotFound):
			t.Epoch, t.Fresh = store.NextEpoch(0, time.Now()), true
			ok, err = s.cas(ctx, doing, `INSERT INTO `+s.names.Footfall+`.owners (topic, kafka_partition, epoch, owner, clean, committed, taken_at)`+
				` VALUES (?, ?, ?, ?, false, 0, ?) IF NOT EXISTS`, p.Topic, p.Number, t.Epoch, owner, time.Now())
		case err != nil:
			err = fmt.Errorf("%s: %w", doing, err)
		default:
			if t.Epoch, t.Fresh = t.Before, clean; !clean {
				t.Epoch = store.NextEpoch(t.Before, time.Now())
			}
			ok, err = s.cas(ctx, doing, `UPDATE `+s.names.Footfall+`.owners SET epoch = ?, owner = ?, clean = false, taken_at = ?`+
				` WHERE topic = ? AND kafka_partition = ? IF epoch = ? AND owner = ? AND clean = ?`,
				t.Epoch, owner, time.Now(), p.Topic, p.Number, t.Before, lastOwner, clean)
		}
		if err != nil {
			return store.Tenure{}, err
		}
		if ok {
			return t, nil
		}
	}
}

// Release implements store.Store.
func (s *Store) Release(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return s.note(ctx, t, committed, true)
}

// Progress implements store.Store.
func (s *Store) Progress(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return s.note(ctx, t, committed, false)
}

func (s *Store) note(ctx context.Context, t store.Tenure, committed int64, clean bool) (bool, error) {
	return s.cas(ctx, fmt.Sprintf("noting the owner's progress in partition %d of %s", t.Partition.Number, t.Partition.Topic),
		`UPDATE `+s.names.Footfall+`.owners SET clean = ?, committed = ? WHERE topic = ? AND kafka_partition = ? IF epoch = ? AND owner = ?`,
		clean, committed, t.Partition.Topic, t.Partition.Number, t.Epoch, t.Owner)
}

// Owners implements store.Store. There is one row per Kafka partition, so it is a small scan.
func (s *Store) Owners(ctx context.Context) ([]store.Owner, error) {
	return s.ownersAt(ctx, gocql.LocalQuorum)
}

// ConfirmOwners implements store.LeaseStore. The scan asks for all ranges of the ring, and so every node.
func (s *Store) ConfirmOwners(ctx context.Context) ([]store.Owner, bool, error) {
	owners, err := s.ownersAt(ctx, gocql.All)
	if !cql.ReplicaMissing(err) {
		return owners, true, err
	}
	owners, err = s.Owners(ctx)
	return owners, false, err
}

func (s *Store) ownersAt(ctx context.Context, level gocql.Consistency) ([]store.Owner, error) {
	query := s.session.Query(`SELECT topic, kafka_partition, owner, clean, epoch, committed, taken_at FROM ` + s.names.Footfall + `.owners`)
	return listOf(query.Consistency(level).WithContext(ctx), "owners", (*store.Owner).Columns)
}

// Setting implements store.Store.
func (s *Store) Setting(ctx context.Context, name, value string) (string, error) {
	// Read first: transactions of consumers that start at the same time would contend for the same setting.
	recorded, err := migrations.Setting(ctx, s.session, s.names, name)
	if err != nil || recorded != "" || value == "" {
		return recorded, err
	}
	for attempt := range settingAttempts {
		if recorded, err = migrations.Record(ctx, s.session, s.names, name, value); err == nil || retry.IsFinal(err) {
			return recorded, err
		}
		if retry.Sleep(ctx, time.Duration(rand.IntN(1<<attempt*100)+50)*time.Millisecond) != nil {
			return "", err
		}
		// It may have been applied, or another's: what is there decides, and costs no further transaction.
		if found, failed := migrations.Setting(ctx, s.session, s.names, name); failed == nil && found != "" {
			return found, nil
		}
	}
	return "", err
}

// settingAttempts is how often Setting tries to record: concurrent transactions on the same row may time out. A consumer that starts tries again
// after that.
const settingAttempts = 5

// Committed implements store.Store.
func (s *Store) Committed(ctx context.Context, p models.Partition) (committed int64, err error) {
	err = s.read(ctx, "owners", &committed, `SELECT committed FROM `+s.names.Footfall+`.owners WHERE topic = ? AND kafka_partition = ?`, p.Topic, p.Number)
	return committed, err
}

// NoteTail implements store.Store. It needs no transaction: every tail that a consumer notes is true, even if it is not the latest.
func (s *Store) NoteTail(ctx context.Context, p models.Partition, t store.Tail) error {
	return s.exec(ctx, fmt.Sprintf("noting the tail of partition %d of %s", p.Number, p.Topic),
		`INSERT INTO `+s.names.Footfall+`.tails (topic, kafka_partition, tail) VALUES (?, ?, ?)`, p.Topic, p.Number, t.String())
}

// Tail implements store.Store.
func (s *Store) Tail(ctx context.Context, p models.Partition) (store.Tail, error) {
	var text string
	err := s.read(ctx, fmt.Sprintf("the tail of partition %d of %s", p.Number, p.Topic), &text,
		`SELECT tail FROM `+s.names.Footfall+`.tails WHERE topic = ? AND kafka_partition = ?`, p.Topic, p.Number)
	if err != nil {
		return store.Tail{}, err
	}
	return store.ReadTail(text)
}

// NoteProgress implements store.Store: one batch of one partition.
func (s *Store) NoteProgress(ctx context.Context, rows []store.Progress) error {
	batch := s.session.NewBatch(gocql.UnloggedBatch).WithContext(ctx)
	for _, row := range rows {
		var eventTime any = gocql.UnsetValue // what was noted stays
		if !row.EventTime.IsZero() {
			eventTime = row.EventTime
		}
		batch.Query(`INSERT INTO `+s.names.Footfall+`.progress (name, topic, kafka_partition, counted, log_end, event_time, at)`+
			` VALUES ('counted', ?, ?, ?, ?, ?, ?)`, row.Partition.Topic, row.Partition.Number, row.Counted, row.LogEnd, eventTime, row.At)
	}
	if len(rows) == 0 {
		return ctx.Err()
	}
	if err := s.session.ExecuteBatch(batch); err != nil {
		return fmt.Errorf("noting how far %d partitions are: %w", len(rows), err)
	}
	return nil
}

// NoteDoubt implements store.Store.
func (s *Store) NoteDoubt(ctx context.Context, d store.Doubt) error {
	return s.exec(ctx, "noting a doubt", `INSERT INTO `+s.names.Footfall+`.doubts (`+store.DoubtColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, d.Columns()...)
}

// Doubts implements store.Store.
func (s *Store) Doubts(ctx context.Context, p models.Partition) ([]store.Doubt, error) {
	query := s.session.Query(`SELECT `+store.DoubtColumns+` FROM `+s.names.Footfall+`.doubts WHERE topic = ? AND kafka_partition = ?`, p.Topic, p.Number)
	return listOf(query.WithContext(ctx), "doubts", (*store.Doubt).Columns)
}

// SettleDoubt implements store.Store.
func (s *Store) SettleDoubt(ctx context.Context, d store.Doubt) error {
	return s.exec(ctx, "settling a doubt", `DELETE FROM `+s.names.Footfall+`.doubts WHERE topic = ? AND kafka_partition = ? AND id = ?`, d.Columns()[:3]...)
}

var _ store.LeaseStore = (*Store)(nil)

// Leases implements store.Store: one partition of a few rows, which Cassandra expires.
func (s *Store) Leases(ctx context.Context) ([]store.Lease, error) {
	query := s.session.Query(`SELECT kind, id, what FROM ` + s.names.Footfall + `.leases WHERE name = 'tables'`).WithContext(ctx)
	return listOf(query, "leases", func(l *store.Lease) []any { return []any{&l.Kind, &l.ID, &l.What} })
}

// KeepLease implements store.LeaseStore.
func (s *Store) KeepLease(ctx context.Context, l store.Lease, ttl time.Duration) error {
	return s.exec(ctx, "keeping a lease", `INSERT INTO `+s.names.Footfall+`.leases (name, kind, id, what) VALUES ('tables', ?, ?, ?) USING TTL ?`,
		l.Kind, l.ID, l.What, int(ttl.Seconds()))
}

// EndLease implements store.LeaseStore.
func (s *Store) EndLease(ctx context.Context, l store.Lease) error {
	return s.exec(ctx, "ending a lease", `DELETE FROM `+s.names.Footfall+`.leases WHERE name = 'tables' AND kind = ? AND id = ?`, l.Kind, l.ID)
}
