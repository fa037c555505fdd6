package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"footfall/test/e2e/dump"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// The deadlines are generous: the machine may be busy. A repair that the first check of a doubt cannot make is made by the second,
// a minute later.
const (
	catchUpPatience = 3 * time.Minute
	repairPatience  = 100 * time.Second
)

// judge waits until the consumers have caught up and compares every cell with the oracle. If some differ, it waits until the
// consumers have repaired them. Then it waits for the first check of all open doubts, compares again, and runs the audit.
// since is when the fault ended.
func (w *world) judge(t *testing.T, r *row, since time.Time) {
	t.Helper()
	w.caughtUp(t)
	diff, read := w.compare(t)
	r.first = len(diff)
	deadline := time.Now().Add(w.patience)
	for len(diff) > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Second)
		diff, read = w.compare(t)
	}
	r.recovered = time.Since(since)
	if len(diff) == 0 {
		w.firstChecks(t)
		diff, read = w.compare(t)
	}
	r.events, r.duplicates, r.dead, r.cells, r.wrong = read.events, read.duplicates, read.dead, len(read.oracle.Cells()), len(diff)
	r.doubts = int(w.metric(t, "footfall_doubts_total"))
	r.repaired = w.repairs(t)
	if said := w.said(t, "repairing counts"); r.repaired > 0 && said == 0 {
		t.Errorf("%d repairs, but no consumer logged one", r.repaired)
	}
	if read.dead == 0 {
		t.Error("no dead letter came with the traffic")
	}
	if missing := w.missing(read); len(missing) > 0 {
		t.Errorf("%d events were answered with 202 and are not in the log, such as %s", len(missing), missing[0])
	}
	w.audit(t, r)
	for _, line := range diff[:min(10, len(diff))] {
		t.Log(line)
	}
}

// equal is judge for faults after which every cell must be right and the audit must find nothing.
func (w *world) equal(t *testing.T, r *row, since time.Time) {
	t.Helper()
	w.judge(t, r, since)
	if r.wrong > 0 {
		t.Errorf("%d of %d cells are wrong", r.wrong, r.cells)
	}
	if !r.clean {
		t.Errorf("audit: %s", r.audit)
	}
	w.stopAll(t)
}

// caughtUp waits until the group has committed all events. A consumer commits only what it has counted.
func (w *world) caughtUp(t *testing.T) {
	t.Helper()
	harness.Within(t, catchUpPatience, "catching up", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		lag, err := w.Lag(ctx)
		if err == nil && lag != 0 {
			err = fmt.Errorf("%d events are not committed", lag)
		}
		return err
	})
}

// compare compares the tables with what the oracle makes of the log, at a moment when all of the log is committed. Names that the lists lack
// are differences, too.
func (w *world) compare(t *testing.T) (diff []string, read *reading) {
	t.Helper()
	harness.Within(t, catchUpPatience, "comparing", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		if read, err = w.read(ctx); err != nil {
			return err
		}
		committed, err := w.Committed(ctx)
		if err != nil {
			return err
		}
		if !maps.Equal(committed, read.ends) { // an event that its sender had given up came late
			return errors.New("the log still grows, and the consumers are behind")
		}
		session, err := w.session(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		got, err := dump.Cassandra(ctx, session, "_"+w.name)
		if err != nil {
			return err
		}
		names, err := listed(ctx, session, "_"+w.name)
		if err != nil {
			return err
		}
		diff = append(oracle.Diff(read.oracle.Cells(), got.Cells), unlisted(read.oracle.Cells(), names)...)
		return nil
	})
	return diff, read
}

// firstChecks waits until every doubt was checked once or is settled.
func (w *world) firstChecks(t *testing.T) {
	t.Helper()
	harness.Within(t, repairPatience, "checking doubts", func() error {
		session, err := w.session(t.Context())
		if err != nil {
			return err
		}
		defer session.Close()
		open, checks := 0, 0
		scanner := session.Query("SELECT checks FROM footfall_" + w.name + ".doubts").WithContext(t.Context()).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(&checks); err != nil {
				return err
			}
			if checks == 0 {
				open++
			}
		}
		if err := scanner.Err(); err != nil {
			return err
		}
		if open > 0 {
			return fmt.Errorf("%d doubts have not been checked", open)
		}
		return nil
	})
}

// repairs counts the repairs in the ledger, which has those of consumers that have ended too.
func (w *world) repairs(t *testing.T) int {
	t.Helper()
	session, err := w.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	n := 0
	for _, keyspace := range []string{"urlshortener_", "cardinality_"} {
		scanner := session.Query("SELECT kind FROM " + keyspace + w.name + ".applied").WithContext(t.Context()).Iter().Scanner()
		for scanner.Next() {
			var kind string
			if err := scanner.Scan(&kind); err != nil {
				t.Fatal(err)
			}
			if kind != "owner" {
				n++
			}
		}
		if err := scanner.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// audit runs `consumer audit`.
func (w *world) audit(t *testing.T, r *row) {
	t.Helper()
	w.started++
	printed, err := process.Run(patiently(t), process.Command{
		Name: fmt.Sprintf("audit%d", w.started), Path: binaries.Path(t, "consumer"), Args: []string{"audit"}, Env: w.env, Dir: w.dir,
	})
	r.clean = err == nil
	r.audit = summary.FindString(printed)
	if r.audit == "" {
		t.Errorf("audit: %v\n%s", err, printed)
	}
}
