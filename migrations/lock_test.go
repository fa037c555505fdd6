package migrations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"footfall/internal/cql"
	"footfall/internal/cql/cqltest"
	"footfall/models"
)

// lockedMigrator has the lock, for a short time, and is told of each step that is done.
func lockedMigrator(t *testing.T, ttl time.Duration, report func(m *migrator, line string)) *migrator {
	t.Helper()
	cfg := cqltest.Config(t)
	session, err := cql.Connect(t.Context(), cfg.CassandraClient)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	m := &migrator{session: session, names: cql.KeyspacesOf(cfg.KeyspaceSuffix), replication: cfg.Replication, plan: models.DefaultPlan(), ttl: ttl, holder: t.Name()}
	m.report = func(format string, args ...any) { report(m, fmt.Sprintf(format, args...)) }
	if err := m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock, err := m.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
	return m
}

// All steps together may take longer than the lock lasts: a busy cluster of three nodes needs minutes.
func TestTheLockIsRenewed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	const ttl = 20 * time.Second
	begun := time.Now()
	m := lockedMigrator(t, ttl, func(_ *migrator, line string) {
		if strings.HasPrefix(line, "migrated") {
			time.Sleep(ttl / 2)
		}
	})
	if err := m.run(t.Context()); err != nil || time.Since(begun) < ttl {
		t.Errorf("%v, after %v", err, time.Since(begun))
	}
}

// Whoever has lost the lock does no further step.
func TestNoStepWithoutTheLock(t *testing.T) {
	steps := 0
	m := lockedMigrator(t, lockTTL, func(m *migrator, line string) {
		if steps++; !strings.HasPrefix(line, "migrated") {
			return
		}
		if err := m.session.Query(`UPDATE `+m.names.Footfall+`.schema_lock SET holder = 'another' WHERE name = 'migrate' IF holder = ?`, m.holder).Exec(); err != nil {
			t.Error(err)
		}
	})
	const before = 1 // the first migration
	if err := m.run(t.Context()); err == nil || !strings.Contains(err.Error(), "run migrate again") || steps != before {
		t.Errorf("%v, after %d reports", err, steps)
	}
}
