package cassandra

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"footfall/internal/cql/cqltest"
	"footfall/internal/retry"
	"footfall/migrations"
	"footfall/models"
)

func TestMigrate(t *testing.T) {
	cfg, plan := cqltest.Config(t), models.DefaultPlan()
	refused := func(want string, final bool) {
		t.Helper()
		store, err := Open(t.Context(), cfg, plan)
		if err == nil {
			store.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || retry.IsFinal(err) != final {
			t.Errorf("opening: %v, final %t; want %q, %t", err, retry.IsFinal(err), want, final)
		}
	}
	refused("run `consumer migrate`", false) // somebody may be about to

	errs := make([]error, 4) // at once
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = migrations.Apply(t.Context(), cfg, plan, func(string, ...any) {}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if steps := testMigrate(t, cfg, plan); len(steps) != 1 { // and again
		t.Errorf("migrating again: %q, want nothing done", steps)
	}
	cfg.LocalDC = "atlantis"
	refused("data centre atlantis", false)
	cfg.LocalDC = ""
	store := testOpen(t, cfg, plan)
	if got, err := store.Setting(t.Context(), models.VisitorsSetting, ""); err != nil || got != models.VisitorsInRows { // nothing was counted before
		t.Errorf("visitors are recorded as %q, %v; want %q", got, err, models.VisitorsInRows)
	}
	exec := func(cql string) {
		t.Helper()
		if err := store.session.Query(strings.ReplaceAll(cql, "KS", store.names.Footfall)).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO KS.schema_migrations (version, name) VALUES (99, 'future')`)
	refused("use a newer footfall", true)
	if err := migrations.Apply(t.Context(), cfg, plan, t.Logf); err == nil || !strings.Contains(err.Error(), "use a newer footfall") {
		t.Errorf("migrating a newer database: %v", err)
	}
	exec(`DELETE FROM KS.schema_migrations WHERE version = 99`)

	four, err := models.NewPlan([]string{"a", "b", "c", "d"}, models.AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg, four); err == nil || !retry.IsFinal(err) || !strings.Contains(err.Error(), plan.String()) || !strings.Contains(err.Error(), four.String()) {
		t.Errorf("opening tables for another plan: %v", err)
	}
	if err := migrations.Apply(t.Context(), cfg, four, t.Logf); err == nil || !strings.Contains(err.Error(), plan.String()) || !strings.Contains(err.Error(), four.String()) {
		t.Errorf("migrating tables to another plan: %v", err)
	}

	// What the tables are made for is not known to the nodes that answer, or of another version. Nothing is written into such tables.
	set := func(name, value string) {
		t.Helper()
		exec(`INSERT INTO KS.settings (name, value) VALUES ('` + name + `', '` + value + `')`)
	}
	unlike := func(opening, migrating string, final bool) {
		t.Helper()
		before := settingsOf(t, store)
		refused(opening, final)
		for _, p := range []*models.Plan{plan, four} {
			if err := migrations.Apply(t.Context(), cfg, p, t.Logf); err == nil || retry.IsFinal(err) != final || !strings.Contains(err.Error(), migrating) {
				t.Errorf("migrating for %s: %v, final %t; want %q, %t", p, err, retry.IsFinal(err), migrating, final)
			}
		}
		if after := settingsOf(t, store); !maps.Equal(before, after) {
			t.Errorf("the settings were %v, they are %v", before, after)
		}
	}
	var first string
	if err := store.session.Query(`SELECT checksum FROM ` + store.names.Footfall + `.schema_migrations WHERE version = 1`).Scan(&first); err != nil {
		t.Fatal(err)
	}
	exec(`TRUNCATE KS.settings`)
	unlike("run `consumer migrate`", "bring all nodes up", false)
	exec(`TRUNCATE KS.schema_migrations`) // there are tables all the same
	unlike("run `consumer migrate`", "bring all nodes up", false)
	exec(`INSERT INTO KS.schema_migrations (version, checksum) VALUES (1, 'ba71d91d62d4cbac5df5a229532b6386eafa7b302d0f0a567b34836312592155')`)
	unlike("footfall 0.x", "footfall 0.x", true)
	exec(`INSERT INTO KS.schema_migrations (version, checksum) VALUES (1, '` + first + `')`)
	set("plan", plan.Record())
	if err := migrations.Apply(t.Context(), cfg, plan, t.Logf); err == nil || !strings.Contains(err.Error(), "bring all nodes up") {
		t.Errorf("migrating tables of which nobody knows how visitors are remembered: %v", err)
	}
	set(models.VisitorsSetting, models.VisitorsInRows)
	testMigrate(t, cfg, plan) // records what was done
	testOpen(t, cfg, plan).Close()
	set(models.VisitorsSetting, "by month, 64 entries together")
	refused("cassandra.keyspace_suffix", true)
	if err := migrations.Apply(t.Context(), cfg, plan, t.Logf); !retry.IsFinal(err) || !strings.Contains(err.Error(), "64 entries") {
		t.Errorf("migrating tables that remember visitors otherwise: %v", err)
	}
	set(models.VisitorsSetting, models.VisitorsInRows)

	exec(`DELETE FROM KS.schema_migrations WHERE version = 3`)
	refused("run `consumer migrate`", false)
}

func settingsOf(t *testing.T, store *Store) map[string]string {
	t.Helper()
	found := map[string]string{}
	var name, value string
	rows := store.session.Query(`SELECT name, value FROM ` + store.names.Footfall + `.settings`).Iter()
	for rows.Scan(&name, &value) {
		found[name] = value
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return found
}

// The analysts' tables must not lose a column unnoticed.
func testTables(t *testing.T, store *Store, suffix string) {
	tables := map[string]bool{}
	scanner := store.session.Query(`SELECT keyspace_name, table_name FROM system_schema.tables`).Iter().Scanner()
	for scanner.Next() {
		var keyspace, table string
		if err := scanner.Scan(&keyspace, &table); err != nil {
			t.Fatal(err)
		}
		if base, ok := strings.CutSuffix(keyspace, suffix); ok {
			tables[base+"."+table] = true
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"cardinality.applied", "cardinality.counts", "cardinality.guiddata", "cardinality.sites_by_month", "cardinality.values_by_month",
		"footfall.doubts", "footfall.forgotten", "footfall.leases", "footfall.owners", "footfall.progress", "footfall.retired", "footfall.schema_lock",
		"footfall.schema_migrations", "footfall.settings", "footfall.tails",
		"urlshortener.amountcounters", "urlshortener.applied", "urlshortener.botcounter", "urlshortener.clickcounter", "urlshortener.countrycounters",
		"urlshortener.daycounters", "urlshortener.hourcounters", "urlshortener.latestclicks", "urlshortener.links_by_day", "urlshortener.monthcounters", "urlshortener.referrercounters",
		"urlshortener.uniquecounter", "urlshortener.uniquecounterips", "urlshortener.urls",
	}
	if got := slices.Sorted(maps.Keys(tables)); !slices.Equal(got, want) {
		t.Errorf("tables\n%q, want\n%q", got, want)
	}
}
