package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
)

// The data directory is "data" by default, so its path is relative.
func TestARelativeDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	create(t, "cardinality", `CREATE TABLE GuidData (siteId, bucket, guid, seen)`,
		`INSERT INTO GuidData VALUES ('site1', 'b2', 'g', '["2018-10-31","month:1 day:1","fb"]')`,
		`CREATE TABLE Counts (siteId, month_interval_start, metric_type, interval_start, visits)`,
		`INSERT INTO Counts VALUES ('site1', '2018-10-01', 'month_views', '2018-10-01', 3)`)
	create(t, "urlshortener")
	e, err := OpenEmbedded("data")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	cells, err := e.Read(t.Context(), Scope{Site: "site1"})
	if err != nil || len(cells) != 3 {
		t.Errorf("%v, %v; want the count, and a month and a day of the visitor", cells, err)
	}
}

func create(t *testing.T, keyspace string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join("data", keyspace+".db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append([]string{"CREATE TABLE made (x)"}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
