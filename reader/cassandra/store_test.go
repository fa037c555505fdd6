package cassandra_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/cql/cqltest"
	"footfall/migrations"
	"footfall/models"
	links "footfall/producer/links/cassandra"
	reader "footfall/reader/cassandra"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// tables fills the tables by the methods of those who count.
type tables struct {
	db    *cassandra.Store
	links *links.Links
}

func (w tables) Count(t testing.TB, cells statstest.Counts) {
	t.Helper()
	var writes []store.KeyWrite
	for key, cells := range cells {
		writes = append(writes, store.KeyWrite{Key: key, Cells: cells})
	}
	for _, err := range w.db.Apply(t.Context(), writes) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w tables) Lead(t testing.TB, link, long string) {
	t.Helper()
	if _, created, err := w.links.Create(t.Context(), link, long, time.Now()); err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
}

func (w tables) Keep(t testing.TB, clicks ...models.LatestClick) {
	t.Helper()
	if err := w.db.KeepLatest(t.Context(), clicks, 48*time.Hour); err != nil {
		t.Fatal(err)
	}
}

func (w tables) List(t testing.TB, names ...models.Name) {
	t.Helper()
	if err := w.db.ListNames(t.Context(), names); err != nil {
		t.Fatal(err)
	}
}

func (w tables) Note(t testing.TB, p stats.Progress) {
	t.Helper()
	if err := w.db.NoteProgress(t.Context(), []store.Progress{store.Progress(p)}); err != nil {
		t.Fatal(err)
	}
}

func (w tables) Split(t testing.TB, topic string, partitions int) {
	t.Helper()
	if _, err := w.db.Setting(t.Context(), eventlog.Fact(topic, "partitions"), strconv.Itoa(partitions)); err != nil {
		t.Fatal(err)
	}
}

func (w tables) Doubt(t testing.TB, p models.Partition, id int64) {
	t.Helper()
	if err := w.db.NoteDoubt(t.Context(), store.Doubt{Partition: p, ID: id, To: 1, Reason: store.DoubtOutcome, NotedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func (w tables) Retire(t testing.TB, before models.Millis, done bool) bool {
	t.Helper()
	r := store.Retirement{Before: before, Topic: "visits", ID: 7}
	if err := w.db.Announce(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if !done {
		return true
	}
	if ok, err := w.db.Decide(t.Context(), r, map[int]int64{0: 1}); err != nil || !ok {
		t.Fatalf("decided %v, %v", ok, err)
	}
	if err := w.db.Finish(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	return true
}

// open makes tables for a plan, and a store that reads them.
func open(t *testing.T, plan *models.Plan) (*reader.Store, tables) {
	t.Helper()
	cfg := cqltest.Config(t)
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
	return s, tables{db, l}
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
