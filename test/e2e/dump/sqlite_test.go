package dump

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"footfall/test/e2e/oracle"
)

// files makes the two databases with empty tables and fills them.
func files(t *testing.T, inserts ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, keyspace := range []string{"urlshortener", "cardinality"} {
		db, err := sql.Open("sqlite", filepath.Join(dir, keyspace+".db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables(nil) {
			switch {
			case table.keyspace != keyspace:
			case table.counter == "sum_values":
				run(t, db, "ALTER TABLE amountcounters ADD COLUMN sum_values")
			case table.name == "guiddata":
				run(t, db, "CREATE TABLE guiddata ("+entryColumns+")")
			default:
				run(t, db, "CREATE TABLE "+table.name+" ("+strings.Join(append(append([]string{}, table.key...), table.values()...), ", ")+")")
			}
		}
		for _, insert := range inserts {
			if into, rest, _ := strings.Cut(insert, "."); into == keyspace {
				run(t, db, "INSERT INTO "+rest)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func TestSQLiteReadsAllTables(t *testing.T) {
	dir := files(t,
		`urlshortener.clickcounter VALUES ('a', 1)`, `urlshortener.botcounter VALUES ('a', 2)`,
		`urlshortener.hourcounters VALUES ('a', '2018-10-01 14:00', 3)`, `urlshortener.daycounters VALUES ('a', '2018-10-01', 4)`,
		`urlshortener.countrycounters VALUES ('a', 'IT', 5)`, `urlshortener.referrercounters VALUES ('a', '', 6)`,
		`urlshortener.amountcounters VALUES ('a', '2018-10-01', 2, -9)`, `urlshortener.monthcounters VALUES ('a', 'browser', '2018-10-01', 'Firefox', 10)`,
		`urlshortener.uniquecounter VALUES ('a', 7)`, `urlshortener.uniquecounterips VALUES ('a', '::1', 3, 99)`,
		`cardinality.guiddata VALUES ('s', '2018-11-01', 'b2', 'g', 0, 0, '["2018-10-31","week:2","x",""]')`,
		`cardinality.counts VALUES ('s', '2018-10-01', '', '', 'hour_views', '2018-10-01 00:00', 8)`,
		`cardinality.counts VALUES ('s', '2018-10-01', '', '', 'day_views', '2018-10-01', 9)`,
	)
	got, err := SQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := oracle.Cells{
		`urlshortener.clickcounter|short_url="a"`:                                                                 1,
		`urlshortener.botcounter|short_url="a"`:                                                                   2,
		`urlshortener.hourcounters|short_url="a"|hour=2018-10-01T14:00:00Z`:                                       3,
		`urlshortener.daycounters|short_url="a"|day=2018-10-01T00:00:00Z`:                                         4,
		`urlshortener.countrycounters|short_url="a"|country="IT"`:                                                 5,
		`urlshortener.referrercounters|short_url="a"|referrer=""`:                                                 6,
		`urlshortener.amountcounters.num_values|short_url="a"|day=2018-10-01T00:00:00Z`:                           2,
		`urlshortener.amountcounters.sum_values|short_url="a"|day=2018-10-01T00:00:00Z`:                           -9,
		`urlshortener.monthcounters|short_url="a"|dimension="browser"|month=2018-10-01T00:00:00Z|label="Firefox"`: 10,
		`urlshortener.uniquecounter|short_url="a"`:                                                                7,
		`urlshortener.uniquecounterips|short_url="a"|ip="::1"`:                                                    1,
		`cardinality.guiddata|siteid="s"|interval_size="week"|interval_start=2018-10-29T00:00:00Z` +
			`|bucket="b2"|guid="g"|feature1="x"|feature2=""`: 1,
		`cardinality.counts|siteid="s"|month_interval_start=2018-10-01T00:00:00Z|feature1=""|feature2=""` +
			`|metric_type="hour_views"|interval_start=2018-10-01T00:00:00Z`: 8,
		`cardinality.counts|siteid="s"|month_interval_start=2018-10-01T00:00:00Z|feature1=""|feature2=""` +
			`|metric_type="day_views"|interval_start=2018-10-01T00:00:00Z`: 9,
	}
	for _, line := range oracle.Diff(want, got.Cells) {
		t.Error(line)
	}
	if got.Firsts[3] != 1 || got.Firsts[0] != 1 || len(got.Firsts) != 2 {
		t.Errorf("first seen in %v", got.Firsts)
	}
}

func TestSQLiteRefusesOddRows(t *testing.T) {
	for name, insert := range map[string]string{
		"null counter":      `urlshortener.clickcounter VALUES ('a', NULL)`,
		"null position":     `urlshortener.uniquecounterips VALUES ('a', '::1', 3, NULL)`,
		"negative position": `urlshortener.uniquecounterips VALUES ('a', '::1', -1, 0)`,
		"day of an hour":    `urlshortener.hourcounters VALUES ('a', '2018-10-01', 3)`,
		"hour of a day":     `urlshortener.daycounters VALUES ('a', '2018-10-01 00:00', 3)`,
		"number of a time":  `urlshortener.daycounters VALUES ('a', 1538352000, 3)`,
		"two rows":          `urlshortener.botcounter VALUES ('a', 1), ('a', 1)`,
		"two entries":       `cardinality.guiddata VALUES ('s', '2018-10-01', 'b2', 'g', 0, 0, '["2018-10-31","day:1","x",""]'), ('s', '2018-10-01', 'b2', 'g', 0, 1, '["2018-10-31","day:1","y",""]')`,
		"no list":           `cardinality.guiddata VALUES ('s', '2018-10-01', 'b2', 'g', 0, 0, '2018-10-31')`,
		"hour of a month":   `cardinality.guiddata VALUES ('s', '2018-10-01 00:00', 'b2', 'g', 0, 0, '["2018-10-31","day:1","x",""]')`,
	} {
		if _, err := SQLite(t.Context(), files(t, insert)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
