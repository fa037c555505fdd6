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

// Whoever has lost the lock does nothing more, not even the rest of a migration.
func TestNoStatementWithoutTheLock(t *testing.T) {
	m := lockedMigrator(t, lockTTL, func(*migrator, string) {})
	err := m.migrate(t.Context(), Migration{Version: 1, Name: "stolen", Statements: []string{
		`CREATE TABLE IF NOT EXISTS ${footfall}.before (name text PRIMARY KEY)`,
		`UPDATE ${footfall}.schema_lock SET holder = 'another' WHERE name = 'migrate' IF holder = '` + m.holder + `'`,
		`CREATE TABLE IF NOT EXISTS ${footfall}.after (name text PRIMARY KEY)`,
	}})
	if err == nil || !strings.Contains(err.Error(), "run migrate again") {
		t.Errorf("migrating without the lock: %v", err)
	}
	for table, want := range map[string]int{"before": 1, "after": 0} {
		var n int
		if err := m.session.Query(`SELECT count(*) FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?`, m.names.Footfall, table).Scan(&n); err != nil || n != want {
			t.Errorf("%d tables are called %s, want %d; %v", n, table, want, err)
		}
	}
}
