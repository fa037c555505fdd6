package cassandra_test

import (
	"errors"
	"testing"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/internal/cql/cqltest"
	"footfall/migrations"
	"footfall/models"
	links "footfall/producer/links/cassandra"
	reader "footfall/reader/cassandra"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/test/harness/statstables"
)

// open makes tables for a plan, and a store that reads them.
func open(t *testing.T, plan *models.Plan) (*reader.Store, statstables.Tables) {
	t.Helper()
	return openIn(t, cqltest.Config(t), plan)
}

// openIn is open in keyspaces that the test knows.
func openIn(t *testing.T, cfg configs.Cassandra, plan *models.Plan) (*reader.Store, statstables.Tables) {
	t.Helper()
	if err := migrations.Apply(t.Context(), cfg, plan, func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	db, err := cassandra.Open(t.Context(), cfg, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	l, err := links.Open(t.Context(), cfg.CassandraClient)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	s, err := reader.Open(t.Context(), cfg.CassandraClient, "LOCAL_QUORUM")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, statstables.Tables{DB: db, Links: l}
}

func TestStore(t *testing.T) {
	statstest.Run(t, func(t *testing.T, plan *models.Plan) (stats.Store, statstest.Tables) { return open(t, plan) })
}

func TestOpenRefuses(t *testing.T) {
	cfg := cqltest.Config(t).CassandraClient
	var wrong *configs.Wrong
	if _, err := reader.Open(t.Context(), cfg, "ALL"); !errors.As(err, &wrong) {
		t.Errorf("another consistency: %v, want a mistake in the configuration", err)
	}
	if _, err := reader.Open(t.Context(), cfg, "local_one"); err == nil || errors.As(err, &wrong) {
		t.Errorf("no tables: %v, want that there is no schema", err)
	}
}
