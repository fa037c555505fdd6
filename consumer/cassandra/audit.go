package cassandra

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/rollup"
	"footfall/models"
)

var _ rollup.AuditStore = (*Store)(nil)

// Keys implements rollup.AuditStore: it reads the ledgers of both keyspaces as a whole, page by page. Rows of a key come one
// after the other.
func (s *Store) Keys(ctx context.Context, each func(models.Key, []rollup.LedgerRow) error) error {
	const ledger = `topic, kafka_partition, kind, epoch, from_offset, to_offset FROM `
	links := `SELECT short_url, ` + ledger + s.names.urlshortener + `.applied`
	if err := s.eachKey(ctx, links, models.URLShortener, each); err != nil {
		return fmt.Errorf("reading the ledger of links: %w", err)
	}
	sites := `SELECT siteId, month_interval_start, ` + strings.Join(s.plan.Features(), ", ") + `, ` + ledger + s.names.cardinality + `.applied`
	if err := s.eachKey(ctx, sites, models.Cardinality, each); err != nil {
		return fmt.Errorf("reading the ledger of sites: %w", err)
	}
	return nil
}

func (s *Store) eachKey(ctx context.Context, cql string, keyspace models.Keyspace, each func(models.Key, []rollup.LedgerRow) error) error {
	key := models.Key{Keyspace: keyspace}
	var month time.Time
	features := make([]string, len(s.plan.Features()))
	var row rollup.LedgerRow
	columns := []any{&key.Name}
	if keyspace == models.Cardinality {
		columns = append(columns, &month)
		for i := range features {
			columns = append(columns, &features[i])
		}
	}
	columns = append(columns, &row.Partition.Topic, &row.Partition.Number, &row.Kind, &row.Epoch, &row.From, &row.To)

	var last models.Key
	var rows []rollup.LedgerRow
	scanner := s.session.Query(cql).WithContext(ctx).PageSize(1000).Iter().Scanner()
	for scanner.Next() {
		if err := scanner.Scan(columns...); err != nil {
			return err
		}
		if keyspace == models.Cardinality {
			key.Month, key.Features = models.Millis(month.UnixMilli()), models.NewFeatures(features...)
		}
		if key != last && len(rows) > 0 {
			if err := each(last, rows); err != nil {
				return err
			}
			rows = nil
		}
		last, rows = key, append(rows, row)
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	if len(rows) > 0 {
		return each(last, rows)
	}
	return nil
}

// Sums implements rollup.AuditStore: one partition of each table.
func (s *Store) Sums(ctx context.Context, key models.Key) (map[string]int64, error) {
	sums := map[string]int64{}
	for _, table := range []string{
		models.ClickCounter, models.HourCounters, models.DayCounters, models.CountryCounters, models.ReferrerCounters,
	} {
		var sum int64
		err := s.session.Query(`SELECT SUM(value) FROM `+s.names.urlshortener+`.`+table+` WHERE short_url = ?`, key.Name).
			Consistency(gocql.LocalQuorum).WithContext(ctx).Scan(&sum)
		if err != nil {
			return nil, fmt.Errorf("adding up %s of %s: %w", table, key.Name, err)
		}
		sums[table] = sum
	}
	return sums, nil
}
