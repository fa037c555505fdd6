// Package cassandra is the store that analysts query: counters, visitors and ledger in Cassandra, by gocql.
//
// The session has no retry policy at all: a counter write must never be sent twice, and what failed is decided one level
// up, by the ledger.
package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/consumer/rollup"
	"footfall/models"
)

// Store implements rollup.Store. Safe for concurrent use.
type Store struct {
	session      *gocql.Session
	names        names
	plan         *models.Plan
	cql          statements
	inFlight     int
	nodes        *nodes
	writeTimeout atomic.Int64 // the longest that a node has said
	replication  string       // of the keyspaces, as recorded
	replicated   bool         // some keyspace has more than one replica
	traffic      *traffic
	ipTTL        time.Duration // how long rows of names of a period stay after it; 0: for ever
}

var _ rollup.Store = (*Store)(nil)

// names are the keyspaces, with the configured suffix.
type names struct{ footfall, urlshortener, cardinality string }

func newNames(suffix string) names {
	return names{"footfall" + suffix, "urlshortener" + suffix, "cardinality" + suffix}
}

func (n names) all() []string { return []string{n.footfall, n.urlshortener, n.cardinality} }

// Open connects and checks that the schema is the one this binary was made for, and that its tables were made for this plan.
// It returns an error that says what to do when they are not. adjust is for tests that want to see what becomes of a session
// made otherwise.
func Open(ctx context.Context, cfg configs.Cassandra, plan *models.Plan, adjust ...func(*gocql.ClusterConfig)) (*Store, error) {
	if cfg.InFlight < 1 {
		return nil, errors.New("cassandra.in_flight must be at least 1")
	}
	known := &nodes{}
	adjust = append([]func(*gocql.ClusterConfig){localTransactions, known.watchNodes}, adjust...)
	session, err := connect(cfg.CassandraClient, adjust...)
	if err != nil {
		return nil, err
	}
	n := newNames(cfg.KeyspaceSuffix)
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
	if err := s.checkSchema(ctx); err != nil {
		return err
	}
	if err := s.checkDataCentres(ctx, localDC); err != nil {
		return err
	}
	if _, err := s.Nodes(ctx); err != nil {
		return err
	}
	return s.checkReplication(ctx)
}

// checkDataCentres makes sure that LOCAL_QUORUM always means the same nodes: what one request wrote the next must see.
func (s *Store) checkDataCentres(ctx context.Context, localDC string) error {
	found := map[string]bool{}
	for _, table := range []string{"local", "peers"} {
		scanner := s.session.Query(`SELECT data_center FROM system.` + table).Consistency(gocql.One).
			WithContext(ctx).Iter().Scanner()
		for scanner.Next() {
			var name string
			if err := scanner.Scan(&name); err != nil {
				return fmt.Errorf("reading the cluster's data centres: %w", err)
			}
			found[name] = true
		}
		if err := scanner.Err(); err != nil {
			return fmt.Errorf("reading the cluster's data centres: %w", err)
		}
	}
	names := slices.Sorted(maps.Keys(found))
	if localDC == "" && len(names) > 1 {
		return fmt.Errorf("the cluster has several data centres (%s): say which one with cassandra.local_dc", strings.Join(names, ", "))
	}
	return nil
}

// Close ends the session. Requests under way fail.
func (s *Store) Close() { s.session.Close() }

// WriteTimeout implements rollup.Store: the longer of the two write timeouts of a node, of the node where it is longest.
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
