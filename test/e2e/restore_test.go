package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

const snapshotTag = "monday"

// A snapshot is taken during `consumer pause` while events come in. Counting goes on for thousands of events. Then the tables are restored, and
// events keep coming: consumers count again what is missing, and every cell equals the oracle's.
func TestRestoreFromASnapshot(t *testing.T) {
	t.Parallel()
	if os.Getenv("FOOTFALL_TEST_SERVERS") == "shared" {
		t.Skip("nodetool imports each of 23 tables in a process of its own, which takes a minute: make test-all runs it")
	}
	restore(t, func(t *testing.T, d *restorable) {
		p := start(t, process.Command{Name: "pause", Path: binaries.Path(t, "consumer"), Args: []string{"pause"}, Env: d.env, Dir: d.dir})
		if _, err := p.Expect(patiently(t), regexp.MustCompile(`(take the snapshot on every node now)`)); err != nil {
			t.Fatal(err)
		}
		d.nodetool(t, append([]string{"snapshot", "-t", snapshotTag}, d.keyspaces()...)...)
		stop(t, p) // as Ctrl-C: it exits 0 only if the snapshot is whole
		if tail := p.Tail(5); !strings.Contains(tail, "is whole") {
			t.Errorf("pause ended with\n%s", tail)
		}
	}, true)
}

// The control: without a pause the ledger is older than the counters, and events are counted twice. It takes a minute and shows what is known.
func TestASnapshotWithoutAPauseIsTorn(t *testing.T) {
	if os.Getenv("FOOTFALL_TEST_CONTROLS") == "" {
		t.Skip("a control: set FOOTFALL_TEST_CONTROLS=1")
	}
	restore(t, func(t *testing.T, d *restorable) {
		d.nodetool(t, append([]string{"snapshot", "-t", snapshotTag}, d.keyspaces()...)...)
	}, false)
}

// restorable is a deployment on a Cassandra whose files the test may change.
type restorable struct {
	*real
	node *stack.Cassandra
}

func newRestorable(t *testing.T) *restorable {
	t.Helper()
	kafkaAddress, host, port := stacktest.Require(t)
	node := &stack.Cassandra{Dir: filepath.Join("..", "..", ".stack")}
	if _, err := node.PID(); errors.Is(err, stack.ErrNotRunning) { // it runs elsewhere
		node = stacktest.Cassandra(t, 1)[0]
		host, port = node.Address, node.Port
	}
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	d := &restorable{real: prepare(t, byDefault, kafkaAddress, cluster), node: node}
	d.open(t, 1)
	return d
}

func (d *restorable) keyspaces() (names []string) {
	for _, name := range []string{"footfall", "urlshortener", "cardinality"} {
		names = append(names, name+d.suffix)
	}
	return names
}

func (d *restorable) nodetool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := d.node.Nodetool(patiently(t), args...); err != nil {
		t.Fatal(err)
	}
}

// snapshots lists the tables, and the folder of the snapshot of each that has data. A table that was dropped and made anew has two folders: the id
// tells which is in use.
func (d *restorable) snapshots(t *testing.T) (tables []string, folders map[string]string) {
	t.Helper()
	folders = map[string]string{}
	for _, keyspace := range d.keyspaces() {
		scanner := d.session.Query("SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = ?", keyspace).Iter().Scanner()
		for scanner.Next() {
			var name string
			var id gocql.UUID
			if err := scanner.Scan(&name, &id); err != nil {
				t.Fatal(err)
			}
			table := keyspace + "." + name
			tables = append(tables, table)
			folder := filepath.Join(d.node.Dir, "cassandra", "data", keyspace, name+"-"+strings.ReplaceAll(id.String(), "-", ""), "snapshots", snapshotTag)
			if data, err := filepath.Glob(filepath.Join(folder, "*-Data.db")); err != nil {
				t.Fatal(err)
			} else if len(data) > 0 {
				folders[table] = folder
			}
		}
		if err := scanner.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if len(folders) < 10 {
		t.Fatalf("the snapshot has data of %d tables only", len(folders))
	}
	return tables, folders
}

// restore empties all tables and imports the snapshot.
func (d *restorable) restore(t *testing.T) {
	t.Helper()
	begun := time.Now()
	tables, folders := d.snapshots(t)
	for _, table := range tables {
		if err := d.session.Query("TRUNCATE " + table).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("emptying %d tables took %s", len(tables), time.Since(begun).Round(100*time.Millisecond))
	for table, folder := range folders {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		keyspace, name, _ := strings.Cut(table, ".")
		d.nodetool(t, "import", "--copy-data", keyspace, name, absolute)
	}
	t.Logf("restoring %d tables took %s", len(folders), time.Since(begun).Round(100*time.Millisecond))
}

func restore(t *testing.T, snapshot func(*testing.T, *restorable), whole bool) {
	d := newRestorable(t)
	d.stable(t, 1)
	const n = 60_000
	events, order := load.Make(91, n), load.Order(91, n)
	enough := make(chan struct{})
	client := &load.Client{URL: d.producerURL(), Connections: 4, Stop: enough, Pace: func(int) {
		select {
		case <-enough:
		case <-time.After(10 * time.Millisecond):
		}
	}}
	sent := sendBehind(t, client, events, order)
	d.progress(t)
	at := d.counted(t)
	snapshot(t, d)
	then := d.counted(t)
	harness.Within(t, time.Minute, "thousands of events after the snapshot", func() error {
		if now := d.counted(t); now < then+3000 {
			return fmt.Errorf("%d are counted, %d when the snapshot was taken", now, then)
		}
		return nil
	})
	for _, c := range d.started {
		stop(t, c.Process)
	}
	last := d.counted(t) // events keep coming
	d.restore(t)
	d.addConsumer(t)
	close(enough)
	want := sent().Oracle(events)
	d.settle(t, want)
	t.Logf("%d events were counted when the snapshot began, %d when it was over, %d at the restore, and %d in all", at, then, last, d.counted(t))
	if whole {
		equal(t, want.Cells(), d.dump(t))
		return
	}
	differences := oracle.Diff(want.Cells(), d.dump(t).Cells)
	if len(differences) == 0 {
		t.Fatal("every cell is right: that does not show anything")
	}
	t.Logf("%d of %d cells differ, such as %s", len(differences), len(want.Cells()), differences[0])
}

// counted is how many events the group has committed.
func (d *restorable) counted(t *testing.T) (n int64) {
	t.Helper()
	at, err := d.Committed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range at {
		n += offset
	}
	return n
}
