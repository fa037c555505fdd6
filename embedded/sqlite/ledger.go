package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"footfall/consumer/store"
	"footfall/models"
)

// perStatement is how many keys or sightings one statement reads. They are passed as one JSON array.
const perStatement = 10_000

// ledgerQueries read the ledgers of many keys. CROSS JOIN makes SQLite loop over the JSON array and look up each element, never the other
// way round.
func ledgerQueries(plan *models.Plan) map[models.Keyspace]string {
	return map[models.Keyspace]string{
		models.URLShortener: `
			SELECT k.key, topic, kafka_partition, kind, epoch, from_offset, to_offset
			FROM json_each(?) k CROSS JOIN urlshortener.applied
			WHERE short_url = k.value ->> 0`,
		models.Cardinality: `
			SELECT k.key, topic, kafka_partition, kind, epoch, from_offset, to_offset
			FROM json_each(?) k CROSS JOIN cardinality.applied
			WHERE siteId = k.value ->> 0 AND month_interval_start = k.value ->> 1` + equalFeatures(plan, "k", 2),
	}
}

// equalFeatures compares the features' columns with the elements of a JSON array, beginning at the given one.
func equalFeatures(plan *models.Plan, array string, from int) string {
	var b strings.Builder
	for i, name := range plan.Features() {
		fmt.Fprintf(&b, " AND %s = %s.value ->> %d", name, array, from+i)
	}
	return b.String()
}

// Ledger implements store.Store.
func (s *Store) Ledger(ctx context.Context, keys []models.Key, found func(int, []store.LedgerRow)) error {
	of := map[models.Keyspace][]int{}
	for i, key := range keys {
		of[key.Keyspace] = append(of[key.Keyspace], i)
	}
	for keyspace, places := range of {
		for some := range slices.Chunk(places, perStatement) {
			if err := s.ledger(ctx, keyspace, keys, some, found); err != nil {
				return fmt.Errorf("reading the ledger of %d keys of %s: %w", len(some), keyspace, err)
			}
		}
	}
	return nil
}

func (s *Store) ledger(ctx context.Context, keyspace models.Keyspace, keys []models.Key, places []int, found func(int, []store.LedgerRow)) error {
	query, ok := s.ledgerOf[keyspace]
	if !ok {
		return fmt.Errorf("no keyspace %q", keyspace)
	}
	partitions := make([][]any, len(places))
	for i, place := range places {
		partitions[i] = partitionKey(keys[place])
	}
	at, rows := -1, []store.LedgerRow(nil) // the rows of a key follow each other
	tell := func() {
		if at >= 0 {
			found(places[at], rows)
		}
	}
	err := s.each(ctx, query, partitions, func(scan func(...any) error) error {
		var i int
		var row store.LedgerRow
		if err := scan(&i, &row.Partition.Topic, &row.Partition.Number, &row.Kind, &row.Epoch, &row.From, &row.To); err != nil {
			return err
		}
		if i != at {
			tell()
			at, rows = i, nil
		}
		rows = append(rows, row)
		return nil
	})
	if err == nil {
		tell()
	}
	return err
}

// each runs a query whose only parameter is a JSON array, and calls do for every row.
func (s *Store) each(ctx context.Context, query string, array [][]any, do func(scan func(...any) error) error) (err error) {
	parameter, err := json.Marshal(array)
	if err != nil {
		return err
	}
	rows, err := s.readers.QueryContext(ctx, query, string(parameter))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err below has what there is to say
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
