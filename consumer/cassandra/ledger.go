package cassandra

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/internal/tables"
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

// Confirm implements store.Store. After a crash a counter write may be on its leader replica alone, where a quorum may miss it. Reads at ALL
// see it and repair the other replicas. With one replica an ordinary read does.
func (s *Store) Confirm(ctx context.Context, keys []models.Key, cells func(int) iter.Seq[models.Cell], found func(int, []store.LedgerRow)) (bool, error) {
	if !s.replicated {
		return true, s.Ledger(ctx, keys, found)
	}
	var mu sync.Mutex
	all := true
	err := s.each(ctx, len(keys), func(ctx context.Context, i int) error {
		rows, complete, err := s.confirmKey(ctx, keys[i], cells(i))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if all = all && complete; len(rows) > 0 {
			found(i, rows)
		}
		return nil
	})
	return all, err
}

// confirmKey reads the ledger, then the cells. What the ledger has was applied before the cells are read. So if both reads are complete,
// every replica has those cells too.
func (s *Store) confirmKey(ctx context.Context, key models.Key, cells iter.Seq[models.Cell]) ([]store.LedgerRow, bool, error) {
	rows, err := s.ledgerOf(ctx, key, gocql.All)
	if cql.ReplicaMissing(err) {
		rows, err := s.ledgerOf(ctx, key, gocql.LocalQuorum) // consumers go on without one node
		return rows, false, err
	}
	if err != nil {
		return nil, false, err
	}
	for cell := range cells {
		counter := s.cql.counter[cell.Counter]
		err := s.session.Query(counter.read, tables.AppendCell(keyArgs(key), counter.rows, cell, tables.Moment)...).
			Consistency(gocql.All).WithContext(ctx).Exec()
		if cql.ReplicaMissing(err) {
			return rows, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("confirming counters: %w", markDisconnected(err))
		}
	}
	return rows, true, nil
}
