// Package cassandra answers the reader's questions from Cassandra, by gocql. It reads only.
package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/migrations"
	"footfall/models"
	"footfall/reader/stats"
)

// Store implements stats.Store. It is safe for concurrent use.
type Store struct {
	session *gocql.Session
	names   cql.Keyspaces
	plan    *models.Plan
	cql     statements
}

var _ stats.Store = (*Store)(nil)

// Open connects and checks that the schema is the one this binary was made for; the plan is that of the tables. Every read is at the
// consistency: LOCAL_ONE or LOCAL_QUORUM, which the counters are written at. Errors of the configuration are *configs.Wrong; others that
// waiting cannot mend are final (retry.IsFinal). The caller closes the store.
func Open(ctx context.Context, cfg configs.CassandraClient, consistency string) (*Store, error) {
	level, err := parseConsistency(consistency)
	if err != nil {
		return nil, configs.MarkWrong(err)
	}
	session, err := cql.Connect(ctx, cfg, func(cluster *gocql.ClusterConfig) { cluster.Consistency = level })
	if err != nil {
		return nil, err
	}
	s := &Store{session: session}
	if err := s.learn(ctx, cfg); err != nil {
		session.Close()
		return nil, cql.MarkFinal(err)
	}
	return s, nil
}

// Check returns a *configs.Wrong if no store can be opened with this configuration. It does not connect.
func Check(cfg configs.CassandraClient, consistency string) error {
	if _, err := parseConsistency(consistency); err != nil {
		return configs.MarkWrong(err)
	}
	return cql.Check(cfg)
}

func parseConsistency(text string) (gocql.Consistency, error) {
	switch strings.ToUpper(text) {
	case "LOCAL_ONE":
		return gocql.LocalOne, nil
	case "LOCAL_QUORUM":
		return gocql.LocalQuorum, nil
	}
	return 0, fmt.Errorf("cassandra.consistency is %q: want LOCAL_ONE or LOCAL_QUORUM", text)
}

// learn finds out what the tables keep, and refuses a cluster that does not suit.
func (s *Store) learn(ctx context.Context, cfg configs.CassandraClient) (err error) {
	s.names = cql.KeyspacesOf(cfg.KeyspaceSuffix)
	if s.plan, err = migrations.CheckTables(ctx, s.session, s.names); err != nil {
		return err
	}
	s.cql = newStatements(s.names, tables.Schema{Suffix: cfg.KeyspaceSuffix, Plan: s.plan})
	return cql.CheckDataCentres(ctx, s.session, cfg.LocalDC)
}

// Close ends the session. Questions under way fail.
func (s *Store) Close() { s.session.Close() }

// Plan implements stats.Store.
func (s *Store) Plan() *models.Plan { return s.plan }

// pageRows is how many rows one page has: the next one is asked for when a quarter of them is left. A name may take a KB. Of a list by month, of which
// many may be read at once, a page has monthRows.
const pageRows, monthRows = 1000, 250

// rowsOf is scanned for a query that gocql routes.
func rowsOf[T any](ctx context.Context, s *Store, what string, into func(*T) []any, query string, args ...any) iter.Seq2[T, error] {
	return scanned(ctx, s.session.Query(query, args...).PageSize(pageRows), what, into)
}

// scanned runs a query when its sequence is run through, page by page. what is for errors; into says where the columns of a row go.
func scanned[T any](ctx context.Context, query *gocql.Query, what string, into func(*T) []any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		// A sequence that is left may have a page under way: nobody waits for it.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var row, none T
		left := errors.New("left")
		err := cql.Each(query.WithContext(ctx), func() error {
			if !yield(row, nil) {
				return left
			}
			return nil
		}, into(&row)...)
		if err != nil && !errors.Is(err, left) {
			yield(none, fmt.Errorf("reading %s: %w", what, err))
		}
	}
}

// collected are all rows of a query.
func collected[T any](rows iter.Seq2[T, error]) (out []T, err error) {
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}
