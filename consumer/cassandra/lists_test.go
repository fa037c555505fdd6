package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/maintenance"
	"footfall/consumer/store"
	"footfall/models"
	"footfall/models/modelstest"
)

// lists reads what was listed, as a reader of counts would.
type lists struct{ *Store }

// Names implements storetest.Lists.
func (l lists) Names(ctx context.Context, of models.Name) (values []string, err error) {
	query := map[string]string{
		models.LinksByDay:    `SELECT short_url FROM ` + l.names.URLShortener + `.links_by_day WHERE day = ? AND bucket = ?`,
		models.SitesByMonth:  `SELECT siteId FROM ` + l.names.Cardinality + `.sites_by_month WHERE month_interval_start = ?`,
		models.ValuesByMonth: `SELECT value FROM ` + l.names.Cardinality + `.values_by_month WHERE siteId = ? AND month_interval_start = ? AND feature = ? AND bucket = ?`,
	}
	args := nameArgs(namePartition(of), "")
	scanner := l.session.Query(query[of.List], args[:len(args)-1]...).WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		var value string
		if err := scanner.Scan(&value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, scanner.Err()
}

// Progress implements storetest.Lists.
func (l lists) Progress(ctx context.Context, p models.Partition) (store.Progress, bool, error) {
	row := store.Progress{Partition: p}
	var eventTime *time.Time
	err := l.session.Query(`SELECT counted, log_end, event_time, at FROM `+l.names.Footfall+`.progress WHERE name = 'counted' AND topic = ? AND kafka_partition = ?`,
		p.Topic, p.Number).WithContext(ctx).Scan(&row.Counted, &row.LogEnd, &eventTime, &row.At)
	if errors.Is(err, gocql.ErrNotFound) {
		return row, false, nil
	}
	if eventTime != nil {
		row.EventTime = *eventTime
	}
	return row, err == nil, err
}

// testCatalogue: what was counted without names is listed afterwards, with links whose tokens are neighbours and those that have no day.
func testCatalogue(t *testing.T, s *Store) {
	counts, seen := modelstest.Cells{}, modelstest.Seen{}
	for i := range 700 {
		ts := models.Earliest + models.Millis(i%40)*24*3600*1000
		for _, e := range []models.Event{
			&models.Click{ShortURL: fmt.Sprint("catalogue-", i%600), IP: "a", TS: ts}, &models.Click{ShortURL: fmt.Sprint("catalogue-bots-", i), IP: "a", TS: ts, Bot: true},
			&models.Visit{SiteID: "catalogue", GUID: "g", TS: ts, Features: []string{"", fmt.Sprint("page", i%50)}},
		} {
			e.Count(seen.First(e), counts.Add)
		}
	}
	var writes []store.KeyWrite
	want := map[models.Name]bool{}
	for key, cells := range counts {
		row := store.LedgerRow{LedgerID: store.LedgerID{Partition: models.Partition{Topic: "catalogue"}, Kind: store.KindOwner, Epoch: 1}, To: 700}
		writes = append(writes, store.KeyWrite{Key: key, Cells: cells, Ledger: []store.LedgerRow{row}})
		s.plan.Names(key, cells, func(n models.Name) { want[n] = true })
	}
	if err := errors.Join(s.Apply(t.Context(), writes)...); err != nil {
		t.Fatal(err)
	}
	c := maintenance.Catalogue{Store: s, Plan: s.plan, Parts: 3, AtOnce: 2, Report: t.Logf}
	done, err := c.Run(t.Context(), false)
	if err != nil || done.Keys < len(counts) || done.Names < len(want) {
		t.Errorf("%+v, %v; want %d keys and %d names at least", done, err, len(counts), len(want))
	}
	for name := range want {
		if listed, err := (lists{s}).Names(t.Context(), name); err != nil || !slices.Contains(listed, name.Value) {
			t.Fatalf("%+v is not listed, %v", name, err)
		}
	}
	if listed, err := (lists{s}).Names(t.Context(), models.Name{List: models.LinksByDay, Start: models.Earliest.Day(), Value: "catalogue-bots-0"}); err != nil || slices.Contains(listed, "catalogue-bots-0") {
		t.Errorf("a link that only bots clicked on is listed, %v", err)
	}
}
