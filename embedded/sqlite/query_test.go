package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/packed"
	"footfall/consumer/rollup/sight"
	"footfall/consumer/store"
	"footfall/embedded/sqlite"
	"footfall/models"
	"footfall/models/modelstest"
)

// moment parses a UTC time as people write it.
func moment(t testing.TB, text string) models.Millis {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return models.Millis(at.UnixMilli())
}

// count writes events to the store as the rollup does, as far as queries show.
func count(t testing.TB, db *sqlite.Store, events ...models.Event) {
	t.Helper()
	n := prometheus.NewCounter(prometheus.CounterOpts{Name: "n"})
	visitors, chunk := sight.New(db, eventlog.NewHasher(), 0, models.FullRow, 1<<20, n, n), packed.New(false)
	for offset, e := range events {
		chunk.Add(models.Partition{Topic: "log"}, int64(offset), e)
	}
	if _, err := visitors.Decide(t.Context(), chunk, 0); err != nil {
		t.Fatal(err)
	}
	cells := modelstest.Cells{}
	for _, e := range chunk.All() {
		e.Event.Count(e.First, cells.Add)
	}
	var writes []store.KeyWrite
	for key, deltas := range cells {
		writes = append(writes, store.KeyWrite{Key: key, Cells: deltas})
	}
	for _, err := range db.Apply(t.Context(), writes) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// catalogue is the analysts' queries, with the answers for the events of TestCatalogue.
var catalogue = []struct {
	query string
	want  [][]string
}{
	{`SELECT hour, value FROM urlshortener.hourcounters WHERE short_url = 'abc' LIMIT 24;`,
		[][]string{{"2018-10-02 00:00", "1"}, {"2018-10-01 15:00", "1"}, {"2018-10-01 14:00", "2"}, {"2018-09-30 23:00", "1"}}},
	{`SELECT hour, value FROM urlshortener.hourcounters WHERE short_url = 'abc' LIMIT 2;`,
		[][]string{{"2018-10-02 00:00", "1"}, {"2018-10-01 15:00", "1"}}},
	{`SELECT day, value FROM urlshortener.daycounters WHERE short_url = 'abc' LIMIT 10;`,
		[][]string{{"2018-10-02", "1"}, {"2018-10-01", "3"}, {"2018-09-30", "1"}}},
	{`SELECT country, value FROM urlshortener.countrycounters WHERE short_url = 'abc';`,
		[][]string{{"DE", "1"}, {"IT", "3"}, {"ZZ", "1"}}},
	{`SELECT value FROM urlshortener.uniquecounter WHERE short_url = 'abc';`, [][]string{{"2"}}},
	{`SELECT value FROM urlshortener.clickcounter WHERE short_url = 'abc'`, [][]string{{"5"}}},
	{`SELECT value FROM urlshortener.botcounter WHERE short_url = 'abc'`, [][]string{{"2"}}},
	{`SELECT day, num_values, sum_values, CAST(sum_values AS double) / num_values AS average FROM urlshortener.amountcounters WHERE short_url = 'abc' LIMIT 10;`,
		[][]string{{"2018-10-02", "1", "0", "0"}, {"2018-10-01", "2", "1501", "750.5"}}},
	{`SELECT ip FROM urlshortener.uniquecounterips WHERE short_url = 'abc';`, [][]string{{"203.0.113.7"}, {"203.0.113.8"}}},
	{`SELECT visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = 'facebook.com' AND feature2 = '' AND metric_type = 'month_unique' AND interval_start = '2018-10-01';`,
		[][]string{{"2"}}},
	{`SELECT interval_start, visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = '' AND feature2 = '' AND metric_type = 'day_unique';     -- the month's histogram`,
		[][]string{{"2018-10-01", "2"}, {"2018-10-02", "1"}, {"2018-10-31", "1"}}},
	{`SELECT interval_start, visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = '' AND feature2 = '' AND metric_type = 'hour_views'`,
		[][]string{{"2018-10-01 14:00", "2"}, {"2018-10-01 15:00", "1"}, {"2018-10-02 00:00", "1"}, {"2018-10-31 09:00", "1"}}},
	{`SELECT interval_start, visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = '' AND feature2 = '' AND metric_type = 'week_unique'`, // the visit of 1 November is in October's last week
		[][]string{{"2018-10-01", "2"}, {"2018-10-29", "2"}}},
	{`SELECT seen FROM cardinality.GuidData WHERE siteId = 'site1' AND month_interval_start = '2018-10-01' AND bucket = '01' AND guid = 'g1'`,
		[][]string{
			{`["2018-10-01","month:3 week:3 day:3","facebook.com",""]`}, {`["2018-10-02","day:3","facebook.com",""]`}, {`["2018-10-31","day:1","",""]`},
		}},
	{`SELECT seen FROM cardinality.GuidData WHERE siteId = 'site1' AND month_interval_start = '2018-10-01' AND bucket = '01' AND guid = 'g1' AND seen ->> 2 = 'facebook.com'`,
		[][]string{{`["2018-10-01","month:3 week:3 day:3","facebook.com",""]`}, {`["2018-10-02","day:3","facebook.com",""]`}}},
}

func catalogueEvents(t testing.TB) []models.Event {
	click := func(at, ip, country string) models.Event {
		return &models.Click{ShortURL: "abc", IP: ip, Country: country, TS: moment(t, at)}
	}
	visit := func(at, guid, f1 string) models.Event {
		return &models.Visit{SiteID: "site1", GUID: guid, TS: moment(t, at), Features: []string{f1, ""}}
	}
	worth := func(event models.Event, amount int64) models.Event {
		event.(*models.Click).Amount = &amount
		return event
	}
	return []models.Event{
		click("2018-10-01 14:05", "203.0.113.7", "IT"), // not in the order of time
		click("2018-09-30 23:59", "203.0.113.7", "IT"),
		worth(click("2018-10-02 00:00", "203.0.113.7", "DE"), 0),
		worth(click("2018-10-01 14:59", "203.0.113.8", "IT"), 1999),
		worth(click("2018-10-01 15:00", "203.0.113.8", ""), -498),
		worth(&models.Click{ShortURL: "abc", IP: "203.0.113.9", TS: moment(t, "2018-10-01 14:00"), Bot: true}, 7),
		&models.Click{ShortURL: "abc", IP: "203.0.113.9", TS: moment(t, "2018-10-01 14:00"), Bot: true},
		&models.Click{ShortURL: "abd", IP: "203.0.113.9", TS: moment(t, "2018-10-01 14:00")},
		visit("2018-10-01 14:00", "g1", "facebook.com"),
		visit("2018-10-01 14:30", "g1", ""),
		visit("2018-10-01 15:00", "g2", "facebook.com"),
		visit("2018-10-02 00:00", "g1", "facebook.com"),
		visit("2018-10-31 09:00", "g1", ""),
		visit("2018-11-01 09:00", "g3", ""),
	}
}

// TestCatalogue: the queries run unchanged, return the right numbers, and read one key: a search, never a scan or a sort.
func TestCatalogue(t *testing.T) {
	store, reader := open(t, t.TempDir())
	count(t, store, catalogueEvents(t)...)
	for _, c := range catalogue {
		got, err := reader.Query(t.Context(), c.query)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
		} else if !reflect.DeepEqual(got.Rows, c.want) {
			t.Errorf("%s\ngives %v\nwant  %v", c.query, got.Rows, c.want)
		}
		plan, err := sqlite.Plan(store, c.query)
		if err != nil || len(plan) != 1 || !strings.HasPrefix(plan[0], "SEARCH") {
			t.Errorf("%s\nhas the plan %q, %v", c.query, plan, err)
		}
	}
}

func TestReaderCannotWrite(t *testing.T) {
	_, reader := open(t, t.TempDir())
	for _, query := range []string{
		"INSERT INTO urlshortener.clickcounter VALUES ('abc', 1)",
		"DELETE FROM urlshortener.clickcounter",
		"PRAGMA query_only = 0; UPDATE footfall.owners SET clean = 1; CREATE TABLE urlshortener.x (y)",
	} {
		if _, err := reader.Query(t.Context(), query); err == nil || !strings.Contains(err.Error(), "readonly") {
			t.Errorf("%s: %v", query, err)
		}
	}
	made := filepath.Join(t.TempDir(), "made.db")
	for _, query := range []string{
		"ATTACH '" + made + "' AS made; CREATE TABLE made.x (y)",
		"VACUUM INTO '" + made + "'", "VACUUM urlshortener INTO '" + made + "'",
		"DETACH cardinality; ATTACH '" + made + "' AS made; CREATE TABLE made.x (y)",
	} {
		if _, err := reader.Query(t.Context(), query); !sqlite.IsWrongQuery(err) {
			t.Errorf("%s: %v; want it refused", query, err)
		}
	}
	if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a query wrote a file: %v", err)
	}
	if _, err := reader.Query(t.Context(), "SELECT nonsense"); err == nil {
		t.Error("a query of a column that does not exist succeeded")
	}
	got, err := reader.Query(t.Context(), "SELECT long_url, 1 + 1 AS two, 'x' FROM (SELECT 1) LEFT JOIN urlshortener.urls")
	want := sqlite.Table{Columns: []string{"long_url", "two", "'x'"}, Rows: [][]string{{"null", "2", "x"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestEnds: how far the store has counted, and the id of its log.
func TestEnds(t *testing.T) {
	db, _ := open(t, t.TempDir())
	if ends, err := db.Ends(t.Context()); err != nil || len(ends) != 0 {
		t.Errorf("of a new store: %v, %v", ends, err)
	}
	row := func(topic string, partition int, from, to int64) store.LedgerRow {
		return store.LedgerRow{LedgerID: store.LedgerID{Partition: models.Partition{Topic: topic, Number: partition}, Kind: store.KindOwner, Epoch: 1}, From: from, To: to}
	}
	a := models.Key{Keyspace: models.URLShortener, Name: "a"}
	b := models.Key{Keyspace: models.Cardinality, Name: "b", Features: models.NewFeatures("", "")}
	for _, err := range db.Apply(t.Context(), []store.KeyWrite{
		{Key: a, Ledger: []store.LedgerRow{row("clicks", 0, 1, 10), row("clicks", 1, 0, 7)}},
		{Key: b, Ledger: []store.LedgerRow{row("visits", 1, 0, 3)}},
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	tenure, err := db.Take(t.Context(), models.Partition{Topic: "clicks", Number: 1}, "me")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := db.Release(t.Context(), tenure, 12); !ok || err != nil {
		t.Fatal(ok, err)
	}
	want := map[models.Partition]int64{{Topic: "clicks", Number: 0}: 10, {Topic: "clicks", Number: 1}: 12, {Topic: "visits", Number: 1}: 3}
	if ends, err := db.Ends(t.Context()); err != nil || !reflect.DeepEqual(ends, want) {
		t.Errorf("got %v, %v; want %v", ends, err, want)
	}
	if id, err := db.LogID(t.Context()); err != nil || id != "" {
		t.Errorf("a new store belongs to log %q, %v", id, err)
	}
	if err := db.SetLogID(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if id, err := db.LogID(t.Context()); err != nil || id != "one" {
		t.Errorf("the store belongs to log %q, %v", id, err)
	}
}
