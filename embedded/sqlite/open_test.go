package sqlite_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"footfall/consumer/store"
	"footfall/embedded/sqlite"
	"footfall/models"
)

// TestReopen: acknowledged writes are there when the store is opened again, whether it was closed or not.
func TestReopen(t *testing.T) {
	for _, closed := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "a dir with 'quotes', 100% of them? #1")
		db, err := sqlite.Open(t.Context(), dir, models.DefaultPlan())
		if err != nil {
			t.Fatal(err)
		}
		p := models.Partition{Topic: "clicks", Number: 2}
		first, err := db.Take(t.Context(), p, "a")
		if err != nil {
			t.Fatal(err)
		}
		key, cell := models.Key{Keyspace: models.URLShortener, Name: "abc"}, models.Cell{Counter: models.ClickCounter}
		row := store.LedgerRow{LedgerID: store.LedgerID{Partition: p, Kind: store.KindOwner, Epoch: 1}, From: 3, To: 9}
		for _, err := range db.Apply(t.Context(), []store.KeyWrite{{Key: key, Cells: map[models.Cell]int64{cell: 5}, Ledger: []store.LedgerRow{row}}}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if closed {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if files, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "*-wal")); len(files) > 0 {
				t.Errorf("closed, but left %v", files)
			}
		} else {
			t.Cleanup(func() { _ = db.Close() })
		}

		again, reader := open(t, dir)
		if got, found, err := cells(reader, models.DefaultPlan())(t.Context(), key, cell); err != nil || !found || got != 5 {
			t.Errorf("after reopening the count is %d, %t, %v", got, found, err)
		}
		if rows, err := store.Ledgers(t.Context(), again, []models.Key{key}); err != nil || len(rows[key]) != 1 || rows[key][0] != row {
			t.Errorf("after reopening the ledger is %v, %v", rows, err)
		}
		if tenure, err := again.Take(t.Context(), p, "b"); err != nil || tenure.Before != first.Epoch || tenure.Epoch <= first.Epoch || tenure.Fresh {
			t.Errorf("after reopening Take gives %+v, %v", tenure, err)
		}
	}
}

// TestOtherSchemas: files of another version are refused by name, with the way on, and are not changed.
func TestOtherSchemas(t *testing.T) {
	for _, version := range []int{1, 3, 4, 99} {
		dir := t.TempDir()
		store, err := sqlite.Open(t.Context(), dir, models.DefaultPlan())
		if err != nil {
			t.Fatal(err)
		}
		if err := sqlite.SetVersion(store, "cardinality", version); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = sqlite.Open(t.Context(), dir, models.DefaultPlan())
			if named := fmt.Sprintf("cardinality.db has schema version %d", version); err == nil || !strings.Contains(err.Error(), named) || !strings.Contains(err.Error(), "move data.dir away") {
				t.Errorf("opening: %v, want %q and what to do", err, named)
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := sqlite.OpenReader(dir); err == nil || !strings.Contains(err.Error(), "data.dir") {
		t.Errorf("OpenReader without files: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "urlshortener.db"), []byte("this is not a database at all"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), dir, models.DefaultPlan()); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("Open of something else: %v", err)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "urlshortener.db", "sub"), models.DefaultPlan()); err == nil || !strings.Contains(err.Error(), "data.dir") {
		t.Errorf("Open below a file: %v", err)
	}
}

// TestPragmas: the connection has the durability that the package promises.
func TestPragmas(t *testing.T) {
	store, _ := open(t, t.TempDir())
	for _, database := range []string{"footfall", "urlshortener", "cardinality"} {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2"} {
			if got, err := sqlite.Pragma(store, database+"."+pragma); err != nil || got != want {
				t.Errorf("%s of %s is %s, %v; want %s", pragma, database, got, err, want)
			}
		}
	}
}

// TestFullDisk: a write that does not fit is refused as a whole, and the next one works.
func TestFullDisk(t *testing.T) {
	db, reader := open(t, t.TempDir())
	if _, err := sqlite.Pragma(db, "urlshortener.max_page_count = 60"); err != nil {
		t.Fatal(err)
	}
	writes := chunk(5000, 0)
	for _, err := range db.Apply(t.Context(), writes) {
		if err == nil || errors.Is(err, store.ErrUnknownOutcome) || !strings.Contains(err.Error(), "full") {
			t.Fatalf("on a full disk: %v", err)
		}
	}
	if rows, err := store.Ledgers(t.Context(), db, []models.Key{writes[0].Key}); err != nil || len(rows) != 0 {
		t.Errorf("refused, but the ledger has %v, %v", rows, err)
	}
	if _, err := sqlite.Pragma(db, "urlshortener.max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	for _, err := range db.Apply(t.Context(), writes) {
		if err != nil {
			t.Fatal(err)
		}
	}
	table, err := reader.Query(t.Context(), "SELECT sum(value), count(*), (SELECT count(*) FROM urlshortener.applied) FROM urlshortener.clickcounter")
	if want := []string{"10000", "5000", "5000"}; err != nil || !slices.Equal(table.Rows[0], want) {
		t.Errorf("got %v, %v; want %v", table.Rows, err, want)
	}
}

// TestCounted: Counted stays below what is in doubt, and is empty for another log.
func TestCounted(t *testing.T) {
	db, _ := open(t, t.TempDir())
	if err := db.SetLogID(t.Context(), "this"); err != nil {
		t.Fatal(err)
	}
	a, b, c := models.Partition{Topic: "clicks"}, models.Partition{Topic: "clicks", Number: 1}, models.Partition{Topic: "visits"}
	for _, p := range []models.Partition{a, b, c} {
		tenure, err := db.Take(t.Context(), p, "me")
		if err != nil {
			t.Fatal(err)
		}
		if p == c {
			continue // nothing counted yet
		}
		if ok, err := db.Progress(t.Context(), tenure, 1000); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	for id, from := range map[int64]int64{1: 700, 2: 800} {
		if err := db.NoteDoubt(t.Context(), store.Doubt{Partition: b, ID: id, From: from, To: 900}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Counted(t.Context(), "this")
	if want := (map[models.Partition]int64{a: 1000, b: 700, c: 0}); err != nil || !maps.Equal(got, want) {
		t.Errorf("counted %v, %v, want %v", got, err, want)
	}
	if got, err := db.Counted(t.Context(), "another"); err != nil || len(got) > 0 {
		t.Errorf("of another log %v is counted, %v", got, err)
	}
}
