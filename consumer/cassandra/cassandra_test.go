package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/consumer/rollup"
	"footfall/consumer/rollup/storetest"
	"footfall/deployments/stack/stacktest"
	"footfall/models"
)

// testConfig points at the real Cassandra, with keyspaces of the test's own that are dropped when it ends.
func testConfig(t *testing.T) configs.Cassandra {
	t.Helper()
	_, host, port := stacktest.Require(t)
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cassandra.Hosts, cfg.Cassandra.Port = []string{host}, port
	cfg.Cassandra.KeyspaceSuffix = "_t" + strconv.FormatInt(time.Now().UnixNano(), 36)
	t.Cleanup(func() {
		session, err := connect(cfg.Cassandra.CassandraClient)
		if err != nil {
			t.Error(err)
			return
		}
		defer session.Close()
		n := newNames(cfg.Cassandra.KeyspaceSuffix)
		for _, keyspace := range []string{n.footfall, n.urlshortener, n.cardinality} {
			if err := session.Query(`DROP KEYSPACE IF EXISTS ` + keyspace).Exec(); err != nil {
				t.Error(err)
			}
		}
	})
	return cfg.Cassandra
}

func testMigrate(t *testing.T, cfg configs.Cassandra) (steps []string) {
	t.Helper()
	err := Migrate(t.Context(), cfg, func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) })
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func testOpen(t *testing.T, cfg configs.Cassandra) *Store {
	t.Helper()
	store, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// One schema serves all: Cassandra takes seconds to create it.
func TestStore(t *testing.T) {
	cfg := testConfig(t)
	testMigrate(t, cfg)
	storetest.Run(t, func(t *testing.T) (rollup.Store, storetest.Reader) {
		store := testOpen(t, cfg)
		return store, store.readCell
	})
	t.Run("Settings", func(t *testing.T) { testSettings(t, testOpen(t, cfg)) })
	t.Run("Tokens", func(t *testing.T) { testTokens(t, testOpen(t, cfg)) })
	t.Run("Tables", func(t *testing.T) { testTables(t, testOpen(t, cfg), cfg.KeyspaceSuffix) })
}

// readCell asks as an analyst would.
func (s *Store) readCell(ctx context.Context, key models.Key, cell models.Cell) (int64, bool, error) {
	var value int64
	err := s.session.Query(s.cql.read[cell.Counter], append(keyArgs(key), cellArgs(cell)...)...).WithContext(ctx).Scan(&value)
	if errors.Is(err, gocql.ErrNotFound) {
		return 0, false, nil
	}
	return value, err == nil, err
}

func testSettings(t *testing.T, store *Store) {
	if got := store.WriteTimeout(); got < 2*time.Second || got > time.Minute {
		t.Errorf("write timeout %v: not a setting of the server", got)
	}
	sync, err := store.CommitlogSync(t.Context())
	if err != nil || sync != "group" {
		t.Errorf("commitlog_sync of our own stack is %q, %v: want group", sync, err)
	}
}

// requestError is an answer of Cassandra's with a code of our choice.
type requestError int

func (e requestError) Code() int       { return int(e) }
func (e requestError) Message() string { return "refused" }
func (e requestError) Error() string   { return "refused" }

func TestOutcome(t *testing.T) {
	keys := 1
	f := func(err error, unknown bool) {
		t.Helper()
		got := outcome(err, keys)
		if !errors.Is(got, err) || errors.Is(got, rollup.ErrUnknownOutcome) != unknown {
			t.Errorf("outcome(%v) = %v, want unknown %v", err, got, unknown)
		}
	}
	// What is refused before anything is done.
	f(gocql.ErrNoConnections, false)
	f(gocql.ErrNoStreams, false)
	f(gocql.ErrSessionClosed, false)
	f(requestError(gocql.ErrCodeUnavailable), false)
	f(requestError(gocql.ErrCodeInvalid), false)
	f(fmt.Errorf("wrapped: %w", gocql.ErrNoConnections), false)
	// Everything else.
	f(requestError(gocql.ErrCodeWriteTimeout), true)
	f(requestError(gocql.ErrCodeWriteFailure), true)
	f(requestError(gocql.ErrCodeOverloaded), true)
	f(requestError(gocql.ErrCodeServer), true)
	f(gocql.ErrTimeoutNoResponse, true)
	f(gocql.ErrConnectionClosed, true)
	f(context.Canceled, true)
	f(context.DeadlineExceeded, true)
	f(errors.New("connection reset by peer"), true)
	keys = 2 // one may be unavailable and the other applied
	f(requestError(gocql.ErrCodeUnavailable), true)
	f(requestError(gocql.ErrCodeInvalid), false)
	f(gocql.ErrNoConnections, false)
	f(requestError(gocql.ErrCodeWriteTimeout), true)
	if outcome(nil, 1) != nil || outcome(nil, 2) != nil {
		t.Error("an acknowledged write has an error")
	}
}
