package e2e

import (
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
)

// nothingCompared matches the report of a rebuild that compared no cells. It is anchored, since 30,030 cells end in "0 cells" too.
var nothingCompared = regexp.MustCompile(`(?m)^0 cells of`)

// The operators' commands that rebuild tables or remove visitors' rows, one after the other, while a consumer runs. They share one
// deployment, since Cassandra takes long to make a schema.
func TestOperations(t *testing.T) {
	d := newReal(t, 1)
	events := load.Make(51, 1000)
	want, _ := send(t, d, events, load.Order(51, len(events)), nil)
	d.settle(t, want)
	suffix := d.suffix + "_v2"
	t.Cleanup(func() { d.drop(t, suffix) })
	t.Run("rebuild", func(t *testing.T) { rebuild(t, d, suffix) })
	t.Run("rebuild from a file", func(t *testing.T) { rebuildFromFile(t, d, suffix, events) })
	t.Run("forget", func(t *testing.T) { forget(t, d, want) })
	t.Run("retire", func(t *testing.T) { retire(t, d, want) })
}

// A rebuild counts all events again into other tables, which equal those in use. It finds a single cell that differs.
func rebuild(t *testing.T, d *real, suffix string) {
	printed, err := d.command(t, "rebuild", "--keyspace-suffix", suffix)
	if err != nil || !strings.Contains(printed, " 0 differ; 0 keys were too busy to compare, 0 hold") || nothingCompared.MatchString(printed) {
		t.Fatalf("rebuild: %v\n%s", err, printed)
	}
	t.Log(last(printed))
	again := *d
	again.suffix = suffix
	if differences := oracle.Diff(d.dump(t).Cells, again.dump(t).Cells); len(differences) > 0 {
		t.Errorf("%d cells differ, which rebuild did not report, such as %s", len(differences), differences[0])
	}

	const where = " WHERE siteId = 'site1' AND month_interval_start = '2018-10-01Z' AND feature1 = '' AND feature2 = ''" +
		" AND metric_type = 'month_unique' AND interval_start = '2018-10-01Z'"
	d.exec(t, "UPDATE cardinality%[1]s.Counts SET visits = visits + 1"+where)
	printed, err = d.command(t, "rebuild", "--keyspace-suffix", suffix)
	if err == nil || !strings.Contains(printed, " 1 differ; 0 keys") ||
		!strings.Contains(printed, `cardinality "site1" 2018-10 ["" ""] month_unique 2018-10-01T00:00Z: in use `) || strings.Count(printed, "in use") != 1 {
		t.Fatalf("rebuild beside a wrong cell: %v\n%s", err, printed)
	}
	d.exec(t, "UPDATE cardinality%[1]s.Counts SET visits = visits - 1"+where)
	d.wrong(t, "is that of the tables in use", "rebuild", "--keyspace-suffix", d.suffix)
}

// A rebuild from a file with the same visits makes the same counts.
func rebuildFromFile(t *testing.T, d *real, suffix string, events []load.Event) {
	for _, cql := range []string{ // empties the tables, which is faster than making new ones
		"TRUNCATE cardinality" + suffix + ".GuidData", "TRUNCATE cardinality" + suffix + ".Counts",
		"TRUNCATE cardinality" + suffix + ".applied", "TRUNCATE urlshortener" + suffix + ".applied",
		"DELETE FROM footfall" + suffix + ".settings WHERE name = 'rebuilt from' IF EXISTS",
	} {
		if err := d.session.Query(cql).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(d.dir, "visits.csv")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(file)
	_ = w.Write([]string{"siteId", "guid", "ts", "feature1", "feature2"}) // Error returns the error
	for _, e := range events {
		if v := e.Visit; v != nil {
			_ = w.Write([]string{v.SiteID, v.GUID, fmt.Sprint(int64(v.TS)), v.Features[0], v.Features[1]})
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run finds all counted
		printed, err := d.command(t, "rebuild", "--keyspace-suffix", suffix, "--from-file", name)
		if err != nil || !strings.Contains(printed, " 0 differ; 0 keys were too busy") || nothingCompared.MatchString(printed) {
			t.Fatalf("rebuild from a file: %v\n%s", err, printed)
		}
		t.Log(last(printed))
	}
	d.wrong(t, "no such file", "rebuild", "--keyspace-suffix", suffix, "--from-file", name+".gz")
	if err := os.WriteFile(name, []byte("siteId,guid,ts\nsite1,a,1539600000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err := d.command(t, "rebuild", "--keyspace-suffix", suffix, "--from-file", name)
	if err == nil || !strings.Contains(printed, "these tables are counted from file visits.csv with SHA-256") {
		t.Errorf("another file of the same name: %v\n%s", err, printed)
	}
}

// A visitor is forgotten and is counted as new when seen again.
func forget(t *testing.T, d *real, want *oracle.Oracle) {
	visit := func(id string, features ...string) load.Event {
		return load.Event{Names: models.DefaultFeatures(), Visit: &models.Visit{V: 1, ID: id, SiteID: "site1", GUID: "erase-me", TS: 1539600000000, Features: features}}
	}
	click := func(id string) load.Event {
		return load.Event{Click: &models.Click{V: 1, ID: id, ShortURL: "abc", IP: "203.0.113.99", Country: "IT", TS: 1539600000000}}
	}
	recent := click("f6") // the latest clicks are kept for days
	recent.Click.TS = models.Millis(time.Now().UnixMilli())
	events := []load.Event{visit("f1", "facebook.com", "/"), visit("f2", "google.com", "/"), click("f3"), recent}
	tell := func(events []load.Event) {
		send(t, d, events, load.Order(1, len(events)), nil)
		for _, e := range events {
			e.Tell(want)
		}
		d.settle(t, want)
	}
	tell(events)
	equal(t, want.Cells(), d.dump(t))
	latest := func(rows int) {
		t.Helper()
		var n int
		day := recent.Click.TS.Day().Time().Format(time.DateOnly)
		err := d.session.Query("SELECT count(*) FROM urlshortener" + d.suffix + ".latestclicks WHERE short_url = 'abc' AND day = '" + day + "'").Scan(&n)
		if err != nil || n != rows {
			t.Fatalf("%d latest clicks, %v; want %d", n, err, rows)
		}
	}
	latest(1)

	var rows int
	err := d.session.Query("SELECT count(*) FROM cardinality" + d.suffix + ".GuidData WHERE guid = 'erase-me' ALLOW FILTERING").Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	removed := fmt.Sprintf("%d rows removed from GuidData", rows)
	printed, err := d.command(t, "forget", "--guid", "erase-me", "--ip", "::ffff:203.0.113.99", "--guid", "nobody")
	if err != nil || !strings.Contains(printed, removed) || !strings.Contains(printed, "1 rows removed from uniquecounterips, 1 from latestclicks") {
		t.Fatalf("forget: %v\n%s", err, printed)
	}
	latest(0)
	cells := maps.Clone(want.Cells())
	maps.DeleteFunc(cells, func(name string, _ int64) bool { return remembers(name) })
	equal(t, cells, d.dump(t))
	printed, err = d.command(t, "forget", "--guid", "erase-me", "--ip", "203.0.113.99")
	if err != nil || !strings.Contains(printed, "nothing was found") {
		t.Fatalf("forget again: %v\n%s", err, printed)
	}

	// Seen again, both count as new, although the consumer had them in its cache.
	time.Sleep(2 * time.Second) // a consumer uses what it has read of notices for two seconds at the most
	maps.DeleteFunc(want.Cells(), func(name string, _ int64) bool { return remembers(name) })
	tell([]load.Event{visit("f4", "facebook.com", "/"), click("f5")})
	equal(t, want.Cells(), d.dump(t))
	d.wrong(t, "neither an IP address", "forget", "--ip", "somebody")
}

// remembers reports whether the cell is a row of the forgotten visitor.
func remembers(name string) bool {
	return strings.HasPrefix(name, "cardinality.guiddata|") && strings.Contains(name, `|guid="erase-me"|`) ||
		strings.HasPrefix(name, "urlshortener.uniquecounterips|") && strings.HasSuffix(name, `|ip="203.0.113.99"`)
}

func last(printed string) string {
	printed = strings.TrimSpace(printed)
	return printed[strings.LastIndex(printed, "\n")+1:]
}

// wrong runs a command that must refuse its arguments: one line with text, exit code 2.
func (d *real) wrong(t *testing.T, text string, args ...string) {
	t.Helper()
	printed, err := d.command(t, args...)
	if err == nil || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(printed, text) || strings.Count(printed, "\n") != 1 {
		t.Errorf("%s: %v; want exit code 2 and one line with %q", args, err, text)
	}
}

// drop removes the keyspaces and the group of a rebuild.
func (d *real) drop(t *testing.T, suffix string) {
	t.Helper()
	for _, keyspace := range []string{"footfall", "urlshortener", "cardinality"} {
		if err := d.session.Query("DROP KEYSPACE IF EXISTS " + keyspace + suffix).Exec(); err != nil {
			t.Error(err)
		}
	}
	_, err := d.Client.DeleteGroups(context.Background(), &kafka.DeleteGroupsRequest{GroupIDs: []string{d.Group + suffix}})
	if err != nil {
		t.Error(err)
	}
}
