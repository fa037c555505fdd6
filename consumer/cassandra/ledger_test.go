package cassandra

import (
	"slices"
	"testing"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

// A row that begins at the first offset of its partition has no from_offset: nothing was added to it. All who read the ledger read it as 0, also
// right after a row that has one.
func testLedgerFromTheFirstOffset(t *testing.T, s *Store) {
	ctx := t.Context()
	key := models.Key{Keyspace: models.URLShortener, Name: "from-the-first"}
	row := func(epoch, from, to int64) store.LedgerRow {
		id := store.LedgerID{Partition: models.Partition{Topic: "clicks"}, Kind: store.KindOwner, Epoch: epoch}
		return store.LedgerRow{LedgerID: id, From: from, To: to}
	}
	for _, rows := range [][]store.LedgerRow{
		{row(1, 40, 45), row(2, 0, 10), row(3, 50, 55), row(4, 0, 20)}, // opens
		{row(1, 0, 2), row(2, 0, 2)},                                   // extends
	} {
		for _, err := range s.Apply(ctx, []store.KeyWrite{{Key: key, Ledger: rows}}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var from *int64
	query := `SELECT from_offset FROM ` + s.names.URLShortener + `.applied WHERE short_url = ? AND topic = ? AND kafka_partition = 0 AND kind = ? AND epoch = 2`
	if err := s.session.Query(query, key.Name, "clicks", store.KindOwner).WithContext(ctx).Scan(&from); err != nil || from != nil {
		t.Errorf("from_offset of a row that begins at 0: %v, %v; want none, which Cassandra need not read to write it", from, err)
	}

	want := []store.LedgerRow{row(1, 40, 47), row(2, 0, 12), row(3, 50, 55), row(4, 0, 20)}
	f := func(by string, got []store.LedgerRow, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", by, got, err, want)
		}
	}
	keys := []models.Key{key}
	rows, err := store.Ledgers(ctx, s, keys)
	f("Ledger", rows[key], err)
	rows, _, err = store.Confirmed(ctx, s, map[models.Key][]models.Cell{key: nil})
	f("Confirm", rows[key], err)
	rows, err = s.LinkLedgers(ctx, keys)
	f("LinkLedgers", rows[key], err)
	sums, err := s.Sums(ctx, keys)
	f("Sums", sums[key].Ledger, err)
	var walked []store.LedgerRow
	err = s.Keys(ctx, store.Part{Keyspace: models.URLShortener, Of: 1}, func(batch []store.KeyLedger) error {
		for _, k := range batch {
			if k.Key == key {
				walked = k.Rows
			}
		}
		return nil
	})
	f("Keys", walked, err)
}

// A key may have any number of ledger rows. No request asks all replicas for many of them at once: one that timed out for that reason would look as if
// a replica were away, and the doubt about the key would never be settled.
func testLedgerOfManyRows(t *testing.T, s *Store) {
	const rows, most = 2500, 500
	w := store.KeyWrite{Key: models.Key{Keyspace: models.URLShortener, Name: "many-rows"}}
	for i := range int64(rows) {
		id := store.LedgerID{Partition: models.Partition{Topic: "clicks"}, Kind: store.KindOwner, Epoch: i}
		w.Ledger = append(w.Ledger, store.LedgerRow{LedgerID: id, From: 10 * i, To: 10*i + 10})
	}
	if err := s.Apply(t.Context(), []store.KeyWrite{w})[0]; err != nil {
		t.Fatal(err)
	}
	largest := 0
	s.Watch(func(_ *gocql.ObservedBatch, query *gocql.ObservedQuery) {
		if query != nil {
			largest = max(largest, query.Rows)
			t.Logf("%d rows in %v", query.Rows, query.End.Sub(query.Start))
		}
	})
	s.replicated = true // ask at ALL
	found, complete, err := store.Confirmed(t.Context(), s, map[models.Key][]models.Cell{w.Key: nil})
	if err != nil || !complete || len(found[w.Key]) != rows || largest == 0 || largest > most {
		t.Errorf("%d rows, complete %v, %v; %d rows in one request, want %d at the most", len(found[w.Key]), complete, err, largest, most)
	}
}
