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

// Take implements store.Store by lightweight transaction. A transaction that failed may have been applied all the same: the next Take then
// gets one more epoch, which does no harm.
func (s *Store) Take(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	for {
		t, ok, err := s.tryTake(ctx, p, owner)
		if err != nil {
			return store.Tenure{}, fmt.Errorf("taking partition %d of %s: %w", p.Number, p.Topic, err)
		}
		if ok {
			return t, nil
		}
	}
}

func (s *Store) tryTake(ctx context.Context, p models.Partition, owner string) (store.Tenure, bool, error) {
	t := store.Tenure{Partition: p, Owner: owner}
	var (
		lastOwner string
		clean     bool
	)
	// A read at LOCAL_SERIAL completes a predecessor's unfinished transaction.
	err := s.session.Query(`SELECT epoch, owner, clean, committed FROM `+s.names.Footfall+
		`.owners WHERE topic = ? AND kafka_partition = ?`, p.Topic, p.Number).
		Consistency(gocql.Consistency(gocql.LocalSerial)).WithContext(ctx).Scan(&t.Before, &lastOwner, &clean, &t.Committed)
	if errors.Is(err, gocql.ErrNotFound) {
		t.Epoch, t.Fresh = store.NextEpoch(0, time.Now()), true
		ok, err := s.cas(ctx, `INSERT INTO `+s.names.Footfall+`.owners (topic, kafka_partition, epoch, owner, clean,`+
			` committed, taken_at) VALUES (?, ?, ?, ?, false, 0, ?) IF NOT EXISTS`,
			p.Topic, p.Number, t.Epoch, owner, time.Now())
		return t, ok, err
	}
	if err != nil {
		return t, false, err
	}
	if t.Epoch, t.Fresh = t.Before, clean; !clean {
		t.Epoch = store.NextEpoch(t.Before, time.Now())
	}
	ok, err := s.cas(ctx, `UPDATE `+s.names.Footfall+`.owners SET epoch = ?, owner = ?, clean = false, taken_at = ?`+
		` WHERE topic = ? AND kafka_partition = ? IF epoch = ? AND owner = ? AND clean = ?`,
		t.Epoch, owner, time.Now(), p.Topic, p.Number, t.Before, lastOwner, clean)
	return t, ok, err
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
	ok, err := s.cas(ctx, `UPDATE `+s.names.Footfall+`.owners SET clean = ?, committed = ?`+
		` WHERE topic = ? AND kafka_partition = ? IF epoch = ? AND owner = ?`,
		clean, committed, t.Partition.Topic, t.Partition.Number, t.Epoch, t.Owner)
	if err != nil {
		return false, fmt.Errorf("noting the owner's progress in partition %d of %s: %w", t.Partition.Number, t.Partition.Topic, err)
	}
	return ok, nil
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
	query := s.session.Query(`SELECT topic, kafka_partition, owner, clean, epoch, committed, taken_at FROM ` + s.names.Footfall + `.owners`).
		Consistency(level).WithContext(ctx)
	owners, err := cql.All(query, func(o *store.Owner) []any {
		return []any{&o.Partition.Topic, &o.Partition.Number, &o.Name, &o.Clean, &o.Epoch, &o.Committed, &o.TakenAt}
	})
	if err != nil {
		return nil, fmt.Errorf("reading owners: %w", markDisconnected(err))
	}
	return owners, nil
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

func (s *Store) cas(ctx context.Context, statement string, args ...any) (bool, error) {
	return s.session.Query(statement, args...).WithContext(ctx).MapScanCAS(map[string]any{})
}
