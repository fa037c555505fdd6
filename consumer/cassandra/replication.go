package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/internal/cql"
	"footfall/internal/retry"
	"footfall/migrations"
)

// replicationSetting is the row of settings that records the replication of the keyspaces.
const replicationSetting = "replication"

// checkReplication returns an error if the replication of the keyspaces is not the recorded one. A replica that is new to its data has none
// of it until it is repaired. A quorum of such replicas would have no visitors and no ledger, and consumers would count all events again.
func (s *Store) checkReplication(ctx context.Context) error {
	now, err := cql.ReadReplication(ctx, s.session, s.names)
	if err != nil {
		return err
	}
	recorded, err := s.recordedReplication(ctx, now)
	if err != nil {
		return err
	}
	s.replication, s.replicated = recorded, now.Several()
	return s.sameReplication(now)
}

// recordedReplication returns the recorded replication, and records it the first time. With several replicas it reads at ALL before that:
// a quorum of new replicas would not have the record, and the changed replication would be recorded as the first.
func (s *Store) recordedReplication(ctx context.Context, now cql.Replication) (string, error) {
	if !now.Several() {
		return s.Setting(ctx, replicationSetting, now.String())
	}
	var recorded string
	err := s.session.Query(`SELECT value FROM `+s.names.Footfall+`.settings WHERE name = ?`, replicationSetting).
		Consistency(gocql.All).WithContext(ctx).Scan(&recorded)
	switch {
	case err == nil:
		return recorded, nil
	case errors.Is(err, gocql.ErrNotFound):
		return s.Setting(ctx, replicationSetting, now.String())
	case !cql.ReplicaMissing(err):
		return "", fmt.Errorf("reading the recorded replication: %w", err)
	}
	if recorded, err = migrations.Setting(ctx, s.session, s.names, replicationSetting); err == nil && recorded == "" {
		err = errors.New("the replication of the keyspaces is not recorded yet, as far as the nodes that answer know: start the first" +
			" consumer of this version while all nodes are up")
	}
	return recorded, err
}

func (s *Store) sameReplication(now cql.Replication) error {
	if now.String() == s.replication {
		return nil
	}
	return s.otherReplication(now, s.replication)
}

// otherReplication says that the replication is not the recorded one, and what to do.
func (s *Store) otherReplication(now cql.Replication, recorded string) error {
	return retry.Final(fmt.Errorf("the replication of the keyspaces is %s, but they were counted into with %s: replicas that are new to their data"+
		" have none of it yet, and events would be counted twice. Stop all consumers; ALTER KEYSPACE %s, as far as that is not done;"+
		" run `nodetool repair --full` of them on every node; then `consumer acknowledge-replication`, and start the consumers"+
		" (docs/operations.md)", now, recorded, strings.Join(s.names.All(), ", ")))
}

// SameReplication returns an error that says what to do if the replication of the keyspaces has changed since Open: consumers must not count
// then. If Cassandra does not answer it returns nil, since consumers cannot count then either.
func (s *Store) SameReplication(ctx context.Context) error {
	now, err := cql.ReadReplication(ctx, s.session, s.names)
	if err != nil {
		return nil //nolint:nilerr // the caller asks again later
	}
	return s.sameReplication(now)
}

// AcknowledgeReplication records the present replication of the keyspaces, and reports what changed. The operator has to repair all of them
// before, and to start consumers after it.
func AcknowledgeReplication(ctx context.Context, cfg configs.Cassandra, report func(format string, args ...any)) error {
	session, err := cql.Connect(ctx, cfg.CassandraClient, localTransactions)
	if err != nil {
		return err
	}
	defer session.Close()
	n := cql.KeyspacesOf(cfg.KeyspaceSuffix)
	now, err := cql.ReadReplication(ctx, session, n)
	if err != nil {
		return err
	}
	s := &Store{session: session, names: n}
	recorded, err := s.Setting(ctx, replicationSetting, now.String())
	if err != nil {
		return err
	}
	if recorded == now.String() {
		report("the replication of the keyspaces is %s, as recorded: nothing to do", now)
		return nil
	}
	ok, err := s.cas(ctx, "recording the replication", `UPDATE `+n.Footfall+`.settings SET value = ? WHERE name = ? IF value = ?`,
		now.String(), replicationSetting, recorded)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("another process recorded the replication meanwhile: run this again")
	}
	report("the replication of the keyspaces was %s and is %s: recorded. Start the consumers", recorded, now)
	return nil
}
