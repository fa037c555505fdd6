package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gocql/gocql"

	"footfall/configs"
)

// replicationSetting is the row of settings that holds how the keyspaces were replicated when they were counted into.
const replicationSetting = "replication"

// replication is what Cassandra says about each keyspace, such as {'class': …, 'dc1': '3'}.
type replication map[string]map[string]string

func readReplication(ctx context.Context, session *gocql.Session, n names) (replication, error) {
	found := replication{}
	for _, keyspace := range n.all() {
		var one map[string]string
		err := session.Query(`SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?`, keyspace).
			Consistency(gocql.One).WithContext(ctx).Scan(&one)
		if errors.Is(err, gocql.ErrNotFound) {
			return nil, fmt.Errorf("keyspace %s does not exist: run `consumer migrate`", keyspace)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the replication of %s: %w", keyspace, err)
		}
		found[keyspace] = one
	}
	return found, nil
}

// String is the same for the same replication: once where all keyspaces have the same, as they should, else with their names.
func (r replication) String() string {
	var texts []string
	same := true
	for _, keyspace := range slices.Sorted(maps.Keys(r)) {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(r[keyspace])) {
			value := r[keyspace][key]
			pairs = append(pairs, fmt.Sprintf("'%s': '%s'", key, value[strings.LastIndex(value, ".")+1:]))
		}
		text := "{" + strings.Join(pairs, ", ") + "}"
		same = same && (len(texts) == 0 || strings.HasSuffix(texts[0], text))
		texts = append(texts, keyspace+" "+text)
	}
	if same && len(texts) > 0 {
		return texts[0][strings.Index(texts[0], "{"):]
	}
	return strings.Join(texts, ", ")
}

// several tells whether data is on more than one node.
func (r replication) several() bool {
	for _, one := range r {
		replicas := 0
		for _, value := range one {
			if n, err := strconv.Atoi(strings.Split(value, "/")[0]); err == nil {
				replicas += n
			}
		}
		if replicas > 1 {
			return true
		}
	}
	return false
}

// checkReplication refuses keyspaces that are replicated otherwise than when they were counted into. A replica that is new to its
// data has none of it until it is repaired: a quorum of such replicas knows no visitors and no ledger, and all would be counted
// once more.
func (s *Store) checkReplication(ctx context.Context) error {
	now, err := readReplication(ctx, s.session, s.names)
	if err != nil {
		return err
	}
	recorded, err := s.recordedReplication(ctx, now)
	if missing(err) { // tables that are older than the settings; nothing is counted into them before they are migrated
		recorded, err = now.String(), nil
	}
	if err != nil {
		return err
	}
	s.replication, s.replicated = recorded, now.several()
	return s.sameReplication(now)
}

// recordedReplication records the replication the first time. Where data is replicated every replica is asked first: a quorum of new
// ones would not know what is recorded, and take what was changed for the first.
func (s *Store) recordedReplication(ctx context.Context, now replication) (string, error) {
	if !now.several() {
		return s.Setting(ctx, replicationSetting, now.String())
	}
	var recorded string
	err := s.session.Query(`SELECT value FROM `+s.names.footfall+`.settings WHERE name = ?`, replicationSetting).
		Consistency(gocql.All).WithContext(ctx).Scan(&recorded)
	switch {
	case err == nil:
		return recorded, nil
	case errors.Is(err, gocql.ErrNotFound):
		return s.Setting(ctx, replicationSetting, now.String())
	case !replicaMissing(err):
		return "", fmt.Errorf("reading the recorded replication: %w", err)
	}
	if recorded, err = s.recorded(ctx, replicationSetting); err == nil && recorded == "" {
		err = errors.New("the replication of the keyspaces is not recorded yet, as far as the nodes that answer know: start the first" +
			" consumer of this version while all nodes are up")
	}
	return recorded, err
}

func (s *Store) sameReplication(now replication) error {
	if now.String() == s.replication {
		return nil
	}
	return fmt.Errorf("the replication of the keyspaces is %s, but they were counted into with %s: replicas that are new to their data"+
		" have none of it yet, and events would be counted twice. Stop all consumers; ALTER KEYSPACE %s, as far as that is not done;"+
		" run `nodetool repair --full` of them on every node; then `consumer acknowledge-replication`, and start the consumers"+
		" (docs/operations.md)", now, s.replication, strings.Join(s.names.all(), ", "))
}

// SameReplication returns an error that says what to do when the replication of the keyspaces has changed since Open. Nothing may be
// counted then. Without an answer from Cassandra it returns nil: then nothing can be.
func (s *Store) SameReplication(ctx context.Context) error {
	now, err := readReplication(ctx, s.session, s.names)
	if err != nil {
		return nil //nolint:nilerr // who asks asks again
	}
	return s.sameReplication(now)
}

// AcknowledgeReplication records how the keyspaces are replicated now, as an operator says who has repaired them all, and reports
// what changed. Consumers are started after it.
func AcknowledgeReplication(ctx context.Context, cfg configs.Cassandra, report func(format string, args ...any)) error {
	session, err := connect(cfg.CassandraClient, localTransactions)
	if err != nil {
		return err
	}
	defer session.Close()
	n := newNames(cfg.KeyspaceSuffix)
	now, err := readReplication(ctx, session, n)
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
	ok, err := s.cas(ctx, `UPDATE `+n.footfall+`.settings SET value = ? WHERE name = ? IF value = ?`, now.String(), replicationSetting, recorded)
	if err != nil {
		return fmt.Errorf("recording the replication: %w", err)
	}
	if !ok {
		return errors.New("somebody else recorded the replication meanwhile: run it again")
	}
	report("the replication of the keyspaces was %s and is %s: recorded. Start the consumers", recorded, now)
	return nil
}
