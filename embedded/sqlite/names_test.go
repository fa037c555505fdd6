package sqlite_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/storetest"
	"footfall/embedded/sqlite"
	"footfall/models"
)

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
