package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/internal/cql"
)

// replicationSetting is the row of settings that holds how the keyspaces were replicated when they were counted into.
const replicationSetting = "replication"

// checkReplication refuses keyspaces that are replicated otherwise than when they were counted into. A replica that is new to its
// data has none of it until it is repaired: a quorum of such replicas knows no visitors and no ledger, and all would be counted
// once more.
func (s *Store) checkReplication(ctx context.Context) error {
	now, err := cql.ReadReplication(ctx, s.session, s.names)
	if err != nil {
		return err
	}
	recorded, err := s.recordedReplication(ctx, now)
	if cql.NoTable(err) { // tables that are older than the settings; nothing is counted into them before they are migrated
		recorded, err = now.String(), nil
	}
	if err != nil {
		return err
	}
	s.replication, s.replicated = recorded, now.Several()
	return s.sameReplication(now)
}

// recordedReplication records the replication the first time. Where data is replicated every replica is asked first: a quorum of new
// ones would not know what is recorded, and take what was changed for the first.
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
	if recorded, err = s.recorded(ctx, replicationSetting); err == nil && recorded == "" {
		err = errors.New("the replication of the keyspaces is not recorded yet, as far as the nodes that answer know: start the first" +
			" consumer of this version while all nodes are up")
	}
	return recorded, err
}

func (s *Store) sameReplication(now cql.Replication) error {
	if now.String() == s.replication {
		return nil
	}
	return fmt.Errorf("the replication of the keyspaces is %s, but they were counted into with %s: replicas that are new to their data"+
		" have none of it yet, and events would be counted twice. Stop all consumers; ALTER KEYSPACE %s, as far as that is not done;"+
		" run `nodetool repair --full` of them on every node; then `consumer acknowledge-replication`, and start the consumers"+
		" (docs/operations.md)", now, s.replication, strings.Join(s.names.All(), ", "))
}

// SameReplication returns an error that says what to do when the replication of the keyspaces has changed since Open. Nothing may be
// counted then. Without an answer from Cassandra it returns nil: then nothing can be.
func (s *Store) SameReplication(ctx context.Context) error {
	now, err := cql.ReadReplication(ctx, s.session, s.names)
	if err != nil {
		return nil //nolint:nilerr // who asks asks again
	}
	return s.sameReplication(now)
}

// AcknowledgeReplication records how the keyspaces are replicated now, as an operator says who has repaired them all, and reports
// what changed. Consumers are started after it.
func AcknowledgeReplication(ctx context.Context, cfg configs.Cassandra, report func(format string, args ...any)) error {
	session, err := cql.Connect(cfg.CassandraClient, localTransactions)
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
		report("the replication of the keyspaces is %s, as it is recorded: nothing to do", now)
		return nil
	}
	ok, err := s.cas(ctx, `UPDATE `+n.Footfall+`.settings SET value = ? WHERE name = ? IF value = ?`, now.String(), replicationSetting, recorded)
	if err != nil {
		return fmt.Errorf("recording the replication: %w", err)
	}
	if !ok {
		return errors.New("somebody else recorded the replication meanwhile: run it again")
	}
	report("the replication of the keyspaces was %s and is %s: recorded. Start the consumers", recorded, now)
	return nil
}
