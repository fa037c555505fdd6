package cassandra_test

import (
	"errors"
	"testing"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/maintenance"
	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/models"
	reader "footfall/reader/cassandra"
	"footfall/reader/stats"
)

// testUnlisted: tables that were counted into before there were lists have no record of them. Rankings are not complete until consumer
// catalogue has finished.
func testUnlisted(t *testing.T, cfg configs.Cassandra, s *reader.Store) {
	session, err := cql.Connect(t.Context(), cfg.CassandraClient)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Query(`DELETE FROM `+cql.KeyspacesOf(cfg.KeyspaceSuffix).Footfall+`.settings WHERE name = ?`, models.ListsSetting).Exec(); err != nil {
		t.Fatal(err)
	}
	db, err := cassandra.Open(t.Context(), cfg, s.Plan())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const month models.Millis = 1538352000000
	var writes []store.KeyWrite
	for _, value := range []string{"", "google.com"} {
		writes = append(writes, store.KeyWrite{
			Key:    models.Key{Keyspace: models.Cardinality, Name: "unlisted", Month: month, Features: models.NewFeatures(value, "")},
			Cells:  map[models.Cell]int64{{Counter: models.MonthViews, At: month}: 4},
			Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: models.Partition{Topic: "visits"}, Kind: store.KindOwner, Epoch: 1}, To: 4}},
		})
	}
	if err := errors.Join(db.Apply(t.Context(), writes)...); err != nil {
		t.Fatal(err)
	}
	check := func(rows int, complete bool) {
		t.Helper()
		top, err := stats.New(s, "clicks", "visits").SiteTop(t.Context(), stats.TopQuery{Site: "unlisted", Feature: "feature1",
			Period: stats.Period{Unit: stats.Month, Start: month}, Metric: stats.Views})
		if err != nil || len(top.Rows) != rows || top.Complete != complete || top.Unlisted == complete {
			t.Errorf("%+v, %v; want %d rows, complete %v", top, err, rows, complete)
		}
	}
	check(0, false)
	c := maintenance.Catalogue{Store: db, Plan: s.Plan(), Parts: 3, AtOnce: 2, Report: t.Logf}
	if _, err := c.Run(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	check(1, true)
}
