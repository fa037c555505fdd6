// Package cassandra is the store that analysts query: counters, visitors and ledger in Cassandra, by gocql.
//
// It retries no write (see internal/cql). The caller decides what to do after a failed write, by the ledger.
package cassandra

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/migrations"
	"footfall/models"
)

// Store implements store.Store. Safe for concurrent use.
type Store struct {
	session      *gocql.Session
	names        cql.Keyspaces
	plan         *models.Plan
	schema       tables.Schema
	cql          statements
	inFlight     int
	nodes        *cql.Nodes
	writeTimeout atomic.Int64 // the longest that any node has reported
	replication  string       // of the keyspaces, as recorded
	replicated   bool         // a keyspace has more than one replica
	traffic      *traffic
	ipTTL        time.Duration // see ExpireIPs
	inMemory     int           // counters of a site's month that CountMismatches compares at a time
}

var _ store.Store = (*Store)(nil)

// Open connects, and checks that schema, plan, data centres and replication are those that this binary and configuration need. If not, the
// error says what to do; it is final (retry.IsFinal) if waiting cannot mend it. adjust changes the driver's configuration, for tests.
func Open(ctx context.Context, cfg configs.Cassandra, plan *models.Plan, adjust ...func(*gocql.ClusterConfig)) (*Store, error) {
	s, err := Connect(ctx, cfg, plan, adjust...)
	if err != nil {
		return nil, err
	}
	if err := s.learn(ctx, cfg.LocalDC); err != nil {
		s.Close()
		return nil, cql.MarkFinal(err)
	}
	return s, nil
}

// Check returns a *configs.Wrong if no store can be opened with this configuration. It does not connect.
func Check(cfg configs.Cassandra) error {
	if cfg.InFlight < 1 {
		return configs.MarkWrong(errors.New("cassandra.in_flight must be at least 1"))
	}
	return cql.Check(cfg.CassandraClient)
}

// Connect is Open without its checks, for a doctor that makes them one by one. Nothing may be counted with such a store.
func Connect(ctx context.Context, cfg configs.Cassandra, plan *models.Plan, adjust ...func(*gocql.ClusterConfig)) (*Store, error) {
	if err := Check(cfg); err != nil {
		return nil, err
	}
	known := &cql.Nodes{}
	adjust = append([]func(*gocql.ClusterConfig){localTransactions, known.Watch}, adjust...)
	session, err := cql.Connect(ctx, cfg.CassandraClient, adjust...)
	if err != nil {
		return nil, err
	}
	n, schema := cql.KeyspacesOf(cfg.KeyspaceSuffix), tables.Schema{Suffix: cfg.KeyspaceSuffix, Plan: plan}
	return &Store{session: session, names: n, plan: plan, schema: schema, cql: newStatements(schema), inFlight: cfg.InFlight, nodes: known,
		traffic: newTraffic(), inMemory: defaultInMemory}, nil
}

// localTransactions runs lightweight transactions in one data centre, as all else: at SERIAL, the default, the loss of another data centre
// would stop all consumers. Consumers of the same partitions have the same cassandra.local_dc. Producers that create links, and processes
// that migrate, may have another or none: they keep the default.
func localTransactions(cluster *gocql.ClusterConfig) { cluster.SerialConsistency = gocql.LocalSerial }

// learn reads schema and settings of the cluster, and returns an error if they do not suit.
func (s *Store) learn(ctx context.Context, localDC string) error {
	if err := s.CheckSchema(ctx); err != nil {
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

// CheckSchema returns an error that says what to do unless the tables are those that this binary and configuration need.
func (s *Store) CheckSchema(ctx context.Context) error {
	return migrations.Check(ctx, s.session, s.names, s.plan)
}

// Close ends the session. Requests under way fail.
func (s *Store) Close() { s.session.Close() }

// WriteTimeout implements store.Store: the longest write timeout, for counters or others, that any node has reported.
func (s *Store) WriteTimeout() time.Duration { return time.Duration(s.writeTimeout.Load()) }

// each is cql.AtOnce with cassandra.in_flight calls at once.
func (s *Store) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	counted, over := s.traffic.turns(n, do)
	defer over()
	return cql.AtOnce(ctx, s.inFlight, n, counted)
}
