// Package statstables fills tables for statstest with the methods of those who count, so that a store of queries is tested on what
// consumers write.
package statstables

import (
	"context"
	"strconv"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// Tables implements statstest.Tables. It has retirements if DB is a store.RetireStore.
type Tables struct {
	DB interface {
		store.Store
		store.LatestStore
	}
	Links interface {
		Create(ctx context.Context, link, long string, at time.Time) (string, bool, error)
	}
}

var _ statstest.Tables = Tables{}

// Count implements statstest.Tables.
func (w Tables) Count(t testing.TB, cells statstest.Counts) {
	t.Helper()
	var writes []store.KeyWrite
	for key, cells := range cells {
		writes = append(writes, store.KeyWrite{Key: key, Cells: cells})
	}
	for _, err := range w.DB.Apply(t.Context(), writes) {
		must(t, err)
	}
}

// Lead implements statstest.Tables.
func (w Tables) Lead(t testing.TB, link, long string) {
	t.Helper()
	if _, created, err := w.Links.Create(t.Context(), link, long, time.Now()); err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
}

// Keep implements statstest.Tables.
func (w Tables) Keep(t testing.TB, clicks ...models.LatestClick) {
	t.Helper()
	must(t, w.DB.KeepLatest(t.Context(), clicks, 48*time.Hour))
}

// List implements statstest.Tables.
func (w Tables) List(t testing.TB, names ...models.Name) {
	t.Helper()
	must(t, w.DB.ListNames(t.Context(), names))
}

// Note implements statstest.Tables.
func (w Tables) Note(t testing.TB, p stats.Progress) {
	t.Helper()
	must(t, w.DB.NoteProgress(t.Context(), []store.Progress{store.Progress(p)}))
}

// Split implements statstest.Tables.
func (w Tables) Split(t testing.TB, topic string, partitions int) {
	t.Helper()
	_, err := w.DB.Setting(t.Context(), eventlog.Fact(topic, "partitions"), strconv.Itoa(partitions))
	must(t, err)
}

// Doubt implements statstest.Tables.
func (w Tables) Doubt(t testing.TB, p models.Partition, id int64) {
	t.Helper()
	must(t, w.DB.NoteDoubt(t.Context(), store.Doubt{Partition: p, ID: id, To: 1, Reason: store.DoubtOutcome, NotedAt: time.Now()}))
}

// Retire implements statstest.Tables.
func (w Tables) Retire(t testing.TB, before models.Millis, done bool) bool {
	t.Helper()
	db, ok := w.DB.(store.RetireStore)
	if !ok {
		return false
	}
	r := store.Retirement{Before: before, Topic: "visits", ID: 7}
	must(t, db.Announce(t.Context(), r))
	if !done {
		return true
	}
	if ok, err := db.Decide(t.Context(), r, map[int]int64{0: 1}); err != nil || !ok {
		t.Fatalf("decided %v, %v", ok, err)
	}
	must(t, db.Finish(t.Context(), before))
	return true
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
