package sqlite_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/storetest"
	"footfall/embedded/sqlite"
	"footfall/models"
	"footfall/models/modelstest"
)

const allNames = `SELECT 'links_by_day', day, bucket, '', '', short_url FROM urlshortener.links_by_day
	UNION ALL SELECT 'sites_by_month', month_interval_start, '', '', '', siteId FROM cardinality.sites_by_month
	UNION ALL SELECT 'values_by_month', month_interval_start, bucket, siteId, feature, value FROM cardinality.values_by_month`

// listed reads all three lists, a line per row.
func listed(t *testing.T, reader *sqlite.Reader) (lines []string) {
	t.Helper()
	table, err := reader.Query(t.Context(), allNames)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		lines = append(lines, strings.Join(row, "|"))
	}
	slices.Sort(lines)
	return lines
}

// TestOldFilesAreListed: files of a version that had no lists get them, with all that was counted. So do files whose filling was interrupted.
func TestOldFilesAreListed(t *testing.T) {
	plan := newPlan(t, []string{"referrer", "page"}, models.AllMetrics())
	ts := models.Millis(1541030400000) // 1 November 2018: the Monday of its week is in October
	events := []models.Event{
		&models.Click{ShortURL: "abc", IP: "1", TS: ts}, &models.Click{ShortURL: "abc", IP: "1", TS: ts + 24*3600*1000},
		&models.Click{ShortURL: "it's", IP: "1", TS: ts}, &models.Click{ShortURL: "bots", IP: "1", TS: ts, Bot: true},
		&models.Visit{SiteID: "shop", GUID: "g", TS: ts, Features: []string{"news.example", "/a"}, Plan: plan},
		&models.Visit{SiteID: "shop", GUID: "h", TS: ts, Features: []string{"", "/ü"}, Plan: plan},
	}
	want := []string{
		"links_by_day|2018-11-01|7|||it's", "links_by_day|2018-11-01|9|||abc", "links_by_day|2018-11-02|9|||abc",
		"sites_by_month|2018-10-01||||shop", "sites_by_month|2018-11-01||||shop",
		"values_by_month|2018-10-01|0|shop|page|/a", "values_by_month|2018-10-01|4|shop|page|/ü",
		"values_by_month|2018-10-01|e|shop|referrer|news.example",
		"values_by_month|2018-11-01|0|shop|page|/a", "values_by_month|2018-11-01|4|shop|page|/ü",
		"values_by_month|2018-11-01|e|shop|referrer|news.example",
	}
	dir := t.TempDir()
	old, err := sqlite.Open(t.Context(), dir, plan)
	if err != nil {
		t.Fatal(err)
	}
	counts, seen := modelstest.Cells{}, modelstest.Seen{}
	for _, e := range events {
		e.Count(seen.First(e), counts.Add)
	}
	for key, cells := range counts {
		if err := old.Apply(t.Context(), []store.KeyWrite{{Key: key, Cells: cells}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"urlshortener.links_by_day", "cardinality.sites_by_month", "cardinality.values_by_month", "footfall.progress"} {
		if err := sqlite.Exec(old, "DROP TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	for _, database := range []string{"footfall", "urlshortener", "cardinality"} {
		if err := sqlite.SetVersion(old, database, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	again, reader := openPlan(t, dir, plan)
	if got := listed(t, reader); !slices.Equal(got, want) {
		t.Errorf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Interrupted: some names are there, the version is not.
	if err := sqlite.Exec(again, "DELETE FROM cardinality.values_by_month WHERE feature = 'page'"); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.SetVersion(again, "cardinality", 2); err != nil {
		t.Fatal(err)
	}
	_, reader = openPlan(t, dir, plan)
	if got := listed(t, reader); !slices.Equal(got, want) {
		t.Errorf("listed again\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNameIsFound: a list is searched by its key, with the bucket as a person has it in SQL.
func TestNameIsFound(t *testing.T) {
	db, _ := open(t, t.TempDir())
	plan, err := sqlite.Plan(db, "SELECT 1 FROM urlshortener.links_by_day WHERE day = '2018-10-01' AND bucket = name_bucket('abc') AND short_url = 'abc'")
	if err != nil || len(plan) != 1 || !strings.HasPrefix(plan[0], "SEARCH") {
		t.Errorf("a link's day is found by %q, %v", plan, err)
	}
}

func TestLists(t *testing.T) {
	db, reader := open(t, t.TempDir())
	storetest.RunLists(t, db, lists{reader})
}

// lists reads what was listed, as a reader of counts would.
type lists struct{ *sqlite.Reader }

// Names implements storetest.Lists.
func (l lists) Names(ctx context.Context, of models.Name) (values []string, err error) {
	query, args := "SELECT short_url FROM urlshortener.links_by_day WHERE day = ? AND bucket = ?", []any{of.Start.Time().Format("2006-01-02"), of.Bucket()}
	switch of.List {
	case models.SitesByMonth:
		query, args = "SELECT siteId FROM cardinality.sites_by_month WHERE month_interval_start = ?", args[:1]
	case models.ValuesByMonth:
		query = "SELECT value FROM cardinality.values_by_month WHERE month_interval_start = ? AND bucket = ? AND siteId = ? AND feature = ?"
		args = append(args, of.Site, of.Feature)
	}
	table, err := l.Query(ctx, query, args...)
	for _, row := range table.Rows {
		values = append(values, row[0])
	}
	return values, err
}

// Progress implements storetest.Lists.
func (l lists) Progress(ctx context.Context, p models.Partition) (row store.Progress, found bool, err error) {
	table, err := l.Query(ctx, "SELECT counted, log_end, event_time, at FROM footfall.progress WHERE name = 'counted' AND topic = ? AND kafka_partition = ?",
		p.Topic, p.Number)
	if err != nil || len(table.Rows) == 0 {
		return row, false, err
	}
	var numbers [4]int64
	for i, text := range table.Rows[0] {
		numbers[i], _ = strconv.ParseInt(text, 10, 64) // null is 0
	}
	row = store.Progress{Partition: p, Counted: numbers[0], LogEnd: numbers[1], At: time.UnixMilli(numbers[3])}
	if numbers[2] != 0 {
		row.EventTime = time.UnixMilli(numbers[2])
	}
	return row, true, nil
}
