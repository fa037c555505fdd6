package store_test

import (
	"context"
	"fmt"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// An owner counts two clicks on a link. Counters and ledger change in one write, so the next owner learns from the ledger which
// offsets the counters hold.
func ExampleStore() {
	ctx := context.Background()
	m := memstore.New()
	m.NextEpoch = func(last int64) int64 { return last + 1 } // else it has random bits
	var db store.Store = m                                   // the real ones are consumer/cassandra and embedded/sqlite
	partition := models.Partition{Topic: "clicks", Number: 3}
	link := models.Key{Keyspace: models.URLShortener, Name: "abc"}

	owner, err := db.Take(ctx, partition, "host/1/6f1a6a52/v1")
	if err != nil {
		fmt.Println(err)
		return
	}
	row := store.LedgerRow{LedgerID: store.LedgerID{Partition: partition, Kind: store.KindOwner, Epoch: owner.Epoch}, From: 100, To: 140}
	write := store.KeyWrite{Key: link, Cells: map[models.Cell]int64{{Counter: models.ClickCounter}: 2}, Ledger: []store.LedgerRow{row}}
	for _, err := range db.Apply(ctx, []store.KeyWrite{write}) {
		fmt.Println(store.Outcome(err))
	}

	ledger, err := store.Ledgers(ctx, db, []models.Key{link})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range ledger[link] {
		fmt.Printf("epoch %d counted [%d, %d) of partition %d\n", row.Epoch, row.From, row.To, row.Partition.Number)
	}
	// Output:
	// applied
	// epoch 1 counted [100, 140) of partition 3
}
