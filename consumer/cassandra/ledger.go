package cassandra

import (
	"context"
	"sync"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

// Ledger implements store.Store: one read per key, of one partition.
func (s *Store) Ledger(ctx context.Context, keys []models.Key, found func(int, []store.LedgerRow)) error {
	var mu sync.Mutex
	return s.each(ctx, len(keys), func(ctx context.Context, i int) error {
		rows, err := s.ledgerOf(ctx, keys[i], gocql.LocalQuorum)
		if err != nil || len(rows) == 0 {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		found(i, rows)
		return nil
	})
}

// ledgerPage is how many ledger rows a request reads: few, so that a request that times out says that a replica does not answer, and not that the key has
// many rows. Nearly every key has fewer.
const ledgerPage = 500

func (s *Store) ledgerOf(ctx context.Context, key models.Key, level gocql.Consistency) ([]store.LedgerRow, error) {
	query := s.query(ctx, kindLedger, s.cql.readLedger[key.Keyspace], keyArgs(key)...).Consistency(level).PageSize(ledgerPage)
	return listOf(query, "ledger", (*store.LedgerRow).Columns)
}
