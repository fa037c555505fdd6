// Package storetest is the suite that every store.Store must pass. It checks what exact counting depends on: a key's cells and
// ledger change together, every answer to a write is true, no two owners get the same epoch, a first sight is found again.
//
// The suite may run on a database that others use: all names it writes are its own and differ from run to run.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// Reader reads one counter cell without using the store, by plain SQL or CQL as an analyst would; found is false if there is
// no such row.
type Reader func(ctx context.Context, key models.Key, cell models.Cell) (value int64, found bool, err error)

// Run checks the stores that open returns; it is called once per case and cleans up with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) (store.Store, Reader)) {
	t.Helper()
	cases := []testCase{
		{"Cells", testCells},
		{"CellsOfEvents", testCellsOfEvents},
		{"CellText", testCellText},
		{"WeekOfPreviousMonth", testWeekOfPreviousMonth},
		{"Ledger", testLedger},
		{"LedgerAlone", testLedgerAlone},
		{"LedgerKeysKeptApart", testLedgerKeysKeptApart},
		{"ManyKeys", testManyKeys},
		{"ManyCellsOfOneKey", testManyCellsOfOneKey},
		{"RefusedWrite", testRefusedWrite},
		{"Fence", testFence},
		{"ConcurrentApply", testConcurrentApply},
		{"Nothing", testNothing},
		{"Sightings", testSightings},
		{"SightingsKeptApart", testSightingsKeptApart},
		{"Twins", testTwins},
		{"SightingText", testSightingText},
		{"ManySightings", testManySightings},
		{"SightingsOfSites", testSightingsOfSites},
		{"VisitorRows", withRows(testVisitorRows)},
		{"VisitorText", withRows(testVisitorText)},
		{"SightingsInRows", withRows(testSightingsInRows)},
		{"RowsUnder", withRows(testRowsUnder)},
		{"ManyVisitors", withRows(testManyVisitors)},
		{"LongRows", withRows(testLongRows)},
		{"CancelledRows", withRows(testCancelledRows)},
		{"Owners", testOwners},
		{"OwnersOfOtherPartitions", testOwnersOfOtherPartitions},
		{"ListOfOwners", testListOfOwners},
		{"ReleaseAfterLoss", testReleaseAfterLoss},
		{"ConcurrentTakes", testConcurrentTakes},
		{"ConcurrentTakesAndReleases", testConcurrentTakesAndReleases},
		{"Progress", testProgress},
		{"Tails", testTails},
		{"Doubts", testDoubts},
		{"Setting", testSetting},
		{"Confirm", testConfirm},
		{"CancelledReads", testCancelledReads},
		{"CancelledApply", testCancelledApply},
		{"CancelledRemember", testCancelledRemember},
		{"CancelledTake", testCancelledTake},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			db, read := open(t)
			c.run(t, &suite{store: db, read: read})
		})
	}
}

type testCase struct {
	name string
	run  func(*testing.T, *suite)
}

// suite is what a case works with.
type suite struct {
	store store.Store
	read  Reader
}

// run makes the names of this process differ from those of any other.
var (
	run     = strings.ToLower(rand.Text()[:10])
	counter atomic.Int64
)

// name returns a name that nobody has used before.
func name(prefix string) string { return fmt.Sprintf("%s-%s-%d", prefix, run, counter.Add(1)) }

func link() models.Key { return models.Key{Keyspace: models.URLShortener, Name: name("link")} }

func site(month models.Millis, features ...string) models.Key {
	return models.Key{Keyspace: models.Cardinality, Name: name("site"), Month: month, Features: models.NewFeatures(features...)}
}

// at parses a UTC time such as 2018-10-01 14:00.
func at(t testing.TB, text string) models.Millis {
	t.Helper()
	moment, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return models.Millis(moment.UnixMilli())
}

// apply carries out writes that must all succeed.
func (s *suite) apply(t *testing.T, writes ...store.KeyWrite) {
	t.Helper()
	errs := s.store.Apply(t.Context(), writes)
	if len(errs) != len(writes) {
		t.Fatalf("Apply of %d writes returned %d results", len(writes), len(errs))
	}
	for i, err := range errs {
		if err != nil {
			t.Fatalf("write %d of key %v: %v", i, writes[i].Key, err)
		}
	}
}

// wantCell checks the value of one cell.
func (s *suite) wantCell(t *testing.T, key models.Key, cell models.Cell, want int64) {
	t.Helper()
	got, found, err := s.read(t.Context(), key, cell)
	if err != nil {
		t.Fatalf("reading %v of %v: %v", cell, key, err)
	}
	if !found || got != want {
		t.Errorf("%v of %v is %d (found %t), want %d", cell, key, got, found, want)
	}
}

// wantNoCell checks that a cell is not there.
func (s *suite) wantNoCell(t *testing.T, key models.Key, cell models.Cell) {
	t.Helper()
	got, found, err := s.read(t.Context(), key, cell)
	if err != nil {
		t.Fatalf("reading %v of %v: %v", cell, key, err)
	}
	if found {
		t.Errorf("%v of %v is %d, want no such row", cell, key, got)
	}
}
