package migrations

import (
	"strings"
	"testing"

	"footfall/internal/retry"
)

func TestCompare(t *testing.T) {
	all := []Migration{{Version: 1, Name: "a", Checksum: "x"}, {Version: 2, Name: "b", Checksum: "y"}}
	f := func(recorded map[int]string, want string, final bool) {
		t.Helper()
		err := compare(all, recorded)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) || retry.IsFinal(err) != final {
			t.Errorf("compare(%v) = %v, final %t; want %q, %t", recorded, err, retry.IsFinal(err), want, final)
		}
	}
	f(map[int]string{1: "x", 2: "y"}, "", false)
	f(map[int]string{1: "x"}, "consumer migrate", false) // somebody may be migrating
	f(map[int]string{2: "y"}, "consumer migrate", false)
	f(map[int]string{}, "consumer migrate", false)
	f(map[int]string{1: "x", 2: "y", 3: "z"}, "newer footfall", true)
	f(map[int]string{1: "edited", 2: "y"}, "never be edited", true)
}

// Tables of 0.x are refused before anything is made beside them. They have a GuidData with other columns, which CREATE TABLE IF NOT EXISTS would take
// for ours.
func TestTablesOf0xAreRefused(t *testing.T) {
	m := lockedMigrator(t, lockTTL, func(*migrator, string) {})
	for _, statement := range []string{
		`CREATE TABLE ${footfall}.schema_migrations (version int PRIMARY KEY, name text, checksum text, applied_at timestamp)`,
		`INSERT INTO ${footfall}.schema_migrations (version, checksum) VALUES (1, '` + first0x + `')`,
		`CREATE KEYSPACE ${cardinality} WITH replication = ${replication}`,
		`CREATE TABLE ${cardinality}.GuidData (siteId text, interval_size text, interval_start timestamp, bucket text, guid text, feature1 text, feature2 text,
			PRIMARY KEY ((siteId, interval_size, interval_start, bucket), guid, feature1, feature2))`,
	} {
		if err := m.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	err := m.run(t.Context())
	if !retry.IsFinal(err) || !strings.Contains(err.Error(), "footfall 0.x") || !strings.Contains(err.Error(), "cassandra.keyspace_suffix") {
		t.Errorf("migrating tables of 0.x: %v", err)
	}
	if err := Check(t.Context(), m.session, m.names, m.plan); !retry.IsFinal(err) || !strings.Contains(err.Error(), "footfall 0.x") {
		t.Errorf("checking tables of 0.x: %v", err)
	}
	var tables int
	err = m.session.Query(`SELECT count(*) FROM system_schema.tables WHERE keyspace_name IN (?, ?)`, m.names.Cardinality, m.names.URLShortener).Scan(&tables)
	if err != nil || tables != 1 {
		t.Errorf("there are %d tables, %v; want GuidData alone", tables, err)
	}
}
