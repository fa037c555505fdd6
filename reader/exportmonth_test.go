package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/consumer/cassandra"
	"footfall/consumer/store"
	"footfall/internal/cql/cqltest"
	"footfall/migrations"
	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/test/harness"
	"footfall/test/harness/statstables"
)

func TestExportMistakes(t *testing.T) {
	there := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(code int, want string, args ...string) {
		t.Helper()
		if got, out, errs := finish(t, []string{"FOOTFALL_CASSANDRA_PORT=1"}, append([]string{"export"}, args...)...); got != code || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("%q: exit %d, %s%s; want %d and %s", args, got, errs, out, code, want)
		}
	}
	f(2, "--site or --link", "--month", "2018-10")
	f(2, "--site or --link", "--month", "2018-10", "--site", "a", "--link", "b")
	f(2, "export needs --month, such as 2026-11", "--site", "a")
	f(2, "want a month", "--site", "a", "--month", "2018-13")
	f(2, "csv, ndjson or parquet", "--site", "a", "--month", "2018-10", "--format", "xlsx")
	f(2, "such a long name", "--link", strings.Repeat("a", 129), "--month", "2018-10")
	f(1, "--force replaces it", "--site", "a", "--month", "2018-10", "--out", there)
	f(1, "", "--site", "a", "--month", "2018-10", "--out", there, "--force") // no Cassandra
	if code, out, _ := finish(t, nil, "export", "--help"); code != 0 || !strings.Contains(out, "manifest") || !strings.Contains(out, "--month") ||
		!strings.Contains(out, "Default: csv") || !strings.Contains(out, "Default: a name such as "+export.What{Site: "shop", Month: models.Millis(at.UnixMilli())}.FileName(export.CSV)) {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestTheLastLineNamesWhatIsLeftOut(t *testing.T) {
	m := export.Manifest{Combinations: []stats.Combination{{Features: []string{"a", "b"}, Keys: 9, Included: true}, {Features: []string{"a", "c"}, Keys: 200_000}}}
	if got := leftOut(m); !strings.HasSuffix(got, "combinations of a × c (200000)") {
		t.Errorf("%q", got)
	}
	m.Combinations = m.Combinations[:1]
	if got := leftOut(m); got != "" {
		t.Errorf("%q, though nothing is", got)
	}
}

// TestExport exports from Cassandra, to a file and to stdout, twice the same. One that is interrupted leaves nothing.
func TestExport(t *testing.T) {
	cfg := cqltest.Config(t)
	plan := models.DefaultPlan()
	if err := migrations.Apply(t.Context(), cfg, plan, func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	db, err := cassandra.Open(t.Context(), cfg, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p := statstest.Plan(plan)
	statstest.Fill(t, statstables.Tables{DB: db}, plan, statstest.Events(p, plan))
	env := []string{"FOOTFALL_CASSANDRA_HOSTS=" + cfg.Hosts[0], "FOOTFALL_CASSANDRA_PORT=" + strconv.Itoa(cfg.Port), "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=" + cfg.KeyspaceSuffix}
	for _, format := range export.Formats {
		path := filepath.Join(t.TempDir(), "x")
		args := []string{"export", "--site", p.Site, "--month", "2018-12", "--format", string(format), "--out"}
		if code, out, errs := finish(t, env, append(args, path)...); code != 0 || !strings.Contains(out, "rows") || errs != "" {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := finish(t, env, append(args, "-")...)
		var m struct {
			Rows   int
			SHA256 string
		}
		if err := json.Unmarshal([]byte(errs), &m); code != 0 || out != string(file) || err != nil || m.Rows < 100 || m.SHA256 == "" {
			t.Errorf("exit %d, %d bytes, want %d; %s %v", code, len(out), len(file), errs, err)
		}
	}
	// While consumers run it waits for their notes after the last row: that is when it is interrupted.
	now := time.Now()
	if err := db.NoteProgress(t.Context(), []store.Progress{{Partition: models.Partition{Topic: "visits"}, Counted: 1, LogEnd: 1, EventTime: now, At: now}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var errs bytes.Buffer
	cmd := harness.Self(t, "reader", env, "export", "--site", p.Site, "--month", "2018-12", "--out", filepath.Join(dir, "x"))
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Within(t, 30*time.Second, "it writes", func() error {
		files, err := os.ReadDir(dir)
		if err == nil && len(files) == 0 {
			err = errors.New("no file yet")
		}
		return err
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says it
	files, err := os.ReadDir(dir)
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "nothing was written") || len(files) > 0 || err != nil {
		t.Errorf("interrupted: exit %d, %s, %v, %v", cmd.ProcessState.ExitCode(), errs.String(), files, err)
	}
}
