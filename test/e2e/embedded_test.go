package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/dump"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// embedded is one whose data is in a directory of its own.
type embedded struct {
	process *process.Process
	env     []string
	dir     string // working directory
	data    string
	url     string
	admin   string  // URL of its metrics
	reader  string  // URL of its reader
	clicked *sql.DB // urlshortener, for reading
	visited *sql.DB // cardinality
	keeps   kept
}

var (
	greeting = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)`)
	metrics  = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/metrics`)
	looking  = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/v1/stats`)
)

// newEmbedded starts it. env overrides the test's own settings.
func newEmbedded(t *testing.T, env ...string) *embedded {
	t.Helper()
	return newEmbeddedKeeping(t, byDefault, env...)
}

func newEmbeddedKeeping(t *testing.T, what kept, env ...string) *embedded {
	t.Helper()
	d := &embedded{dir: t.TempDir(), data: t.TempDir(), keeps: what}
	d.env = append(what.env(), "FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_READER_ADDR=127.0.0.1:0", "FOOTFALL_DATA_DIR="+d.data, "FOOTFALL_LATEST_ENABLED=true")
	d.env = append(d.env, env...)
	d.process = start(t, d.command(t, "embedded"))
	var err error
	if d.url, err = d.process.Expect(patiently(t), greeting); err != nil {
		t.Fatal(err)
	}
	if d.admin, err = d.process.Expect(patiently(t), metrics); err != nil {
		t.Fatal(err)
	}
	if d.reader, err = d.process.Expect(patiently(t), looking); err != nil {
		t.Fatal(err)
	}
	d.clicked, d.visited = d.open(t, "urlshortener"), d.open(t, "cardinality")
	return d
}

func (d *embedded) command(t *testing.T, name string) process.Command {
	t.Helper()
	return process.Command{Name: name, Path: binaries.Path(t, "embedded"), Env: d.env, Dir: d.dir}
}

func (d *embedded) open(t *testing.T, keyspace string) *sql.DB {
	t.Helper()
	db, err := dump.OpenSQLite(d.data, keyspace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func (d *embedded) producerURL() string { return d.url }

func (d *embedded) kept() kept { return d.keeps }

// settle waits until at least as many events are counted as were accepted. It would not notice one that is counted twice later: for that
// dump reads the tables only after the process has ended.
func (d *embedded) settle(t *testing.T, o *oracle.Oracle) {
	t.Helper()
	const clicks = `SELECT (SELECT coalesce(sum(value), 0) FROM clickcounter) + (SELECT coalesce(sum(value), 0) FROM botcounter)`
	visits := `SELECT coalesce(sum(visits), 0) FROM counts WHERE metric_type = 'month_views' AND ` + strings.Join(d.keeps.features, ` = '' AND `) + ` = ''`
	harness.Within(t, 3*time.Minute, "counting all events", func() error {
		var c, v int64
		if err := errors.Join(d.clicked.QueryRow(clicks).Scan(&c), d.visited.QueryRow(visits).Scan(&v)); err != nil {
			return err
		}
		if c < o.Clicks || v < o.Visits {
			return fmt.Errorf("%d of %d clicks and %d of %d visits are counted", c, o.Clicks, v, o.Visits)
		}
		return nil
	})
}

// dump stops the process first: everything counted until then must be in the tables, once.
func (d *embedded) dump(t *testing.T) *dump.Dump {
	t.Helper()
	stop(t, d.process)
	got, err := dump.SQLite(t.Context(), d.data, d.keeps.features...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (d *embedded) clicks(t *testing.T, link string) (n int64) {
	t.Helper()
	err := d.clicked.QueryRow("SELECT value FROM clickcounter WHERE short_url = ?", link).Scan(&n)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return n
}

// ask runs `embedded query` while the process counts.
func (d *embedded) ask(t *testing.T, queries []string) [][][]string {
	t.Helper()
	var answers [][][]string
	for i, q := range queries {
		printed, err := process.Run(patiently(t), process.Command{
			Name: fmt.Sprintf("query%d", i), Path: binaries.Path(t, "embedded"), Args: []string{"query", q}, Env: d.env, Dir: d.dir,
		})
		if err != nil {
			t.Fatal(err)
		}
		tables, err := parseTables(printed)
		if err != nil || len(tables) != 1 {
			t.Fatalf("%d tables: %v\n%s\n%s", len(tables), err, q, printed)
		}
		answers = append(answers, tables[0])
	}
	return answers
}
