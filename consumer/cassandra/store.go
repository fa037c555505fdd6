// Package cassandra is the store that analysts query: counters, visitors and ledger in Cassandra, by gocql.
//
// Nothing is retried here (see internal/cql): what failed is decided one level up, by the ledger.
package cassandra

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/migrations"
	"footfall/models"
)

// Store implements store.Store. Safe for concurrent use.
type Store struct {
	session      *gocql.Session
	names        cql.Keyspaces
	plan         *models.Plan
	cql          statements
	inFlight     int
	nodes        *cql.Nodes
	writeTimeout atomic.Int64 // the longest that a node has said
	replication  string       // of the keyspaces, as recorded
	replicated   bool         // some keyspace has more than one replica
	traffic      *traffic
	ipTTL        time.Duration // how long rows of names of a period stay after it; 0: for ever
}

var _ store.Store = (*Store)(nil)

// Open connects and checks that the schema is the one this binary was made for, and that its tables were made for this plan.
// It returns an error that says what to do when they are not. adjust is for tests that want to see what becomes of a session
// made otherwise.
func Open(ctx context.Context, cfg configs.Cassandra, plan *models.Plan, adjust ...func(*gocql.ClusterConfig)) (*Store, error) {
	if cfg.InFlight < 1 {
		return nil, errors.New("cassandra.in_flight must be at least 1")
	}
	known := &cql.Nodes{}
	adjust = append([]func(*gocql.ClusterConfig){localTransactions, known.Watch}, adjust...)
	session, err := cql.Connect(cfg.CassandraClient, adjust...)
	if err != nil {
		return nil, err
	}
	n := cql.KeyspacesOf(cfg.KeyspaceSuffix)
	s := &Store{session: session, names: n, plan: plan, cql: newStatements(n, plan), inFlight: cfg.InFlight, nodes: known,
		traffic: newTraffic()}
	if err := s.learn(ctx, cfg.LocalDC); err != nil {
		session.Close()
		return nil, err
	}
	return s, nil
}

// localTransactions lets lightweight transactions ask one data centre, as all else does: at SERIAL, the default, losing another one
// would stop everybody. Those who take the same partitions have the same cassandra.local_dc. Doors that make links and processes
// that migrate may have none, or another: they keep the default.
func localTransactions(cluster *gocql.ClusterConfig) { cluster.SerialConsistency = gocql.LocalSerial }

// learn finds out what the cluster is like, and refuses one that does not suit.
func (s *Store) learn(ctx context.Context, localDC string) error {
	if err := migrations.Check(ctx, s.session, s.names, s.plan); err != nil {
		return err
	}
	if err := cql.CheckDataCentres(ctx, s.session, localDC); err != nil {
		return err
	}
	if _, err := s.Nodes(ctx); err != nil {
		return err
	}
	return s.checkReplication(ctx)
}

// Close ends the session. Requests under way fail.
func (s *Store) Close() { s.session.Close() }

// WriteTimeout implements store.Store: the longer of the two write timeouts of a node, of the node where it is longest.
func (s *Store) WriteTimeout() time.Duration { return time.Duration(s.writeTimeout.Load()) }

// each calls do for 0 … n-1, as many at once as the configuration allows. It starts no more after the first error or when
// ctx ends, and nil means that all were done.
func (s *Store) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(s.inFlight)
	for i := range n {
		if working.Err() != nil {
			break
		}
		group.Go(func() error { return do(working, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
