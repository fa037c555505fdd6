package cassandra

import (
	"context"
	"fmt"
	"math"
	"sync"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/migrations"
	"footfall/models"
)

var _ store.AuditStore = (*Store)(nil)

// keysTogether is how many keys Keys hands on at a time.
const keysTogether = 500

// around is the smallest token range that has all these keys.
func around(keys []models.Key) tokenRange {
	b := tokenRange{First: math.MaxInt64, Last: math.MinInt64}
	for _, key := range keys {
		token := keyToken(key)
		b.First, b.Last = min(b.First, token), max(b.Last, token)
	}
	return b
}

// Keys implements store.WalkStore: it reads the ledgers of a part of the ring, page by page. The rows of a key are consecutive.
func (s *Store) Keys(ctx context.Context, part store.Part, each func([]store.KeyLedger) error) error {
	var together []store.KeyLedger
	err := s.eachLedger(ctx, part.Keyspace, tokensOf(part), func(k store.KeyLedger) error {
		if together = append(together, k); len(together) < keysTogether {
			return nil
		}
		full := together
		together = nil
		return each(full)
	})
	if err == nil && len(together) > 0 {
		err = each(together)
	}
	return err
}

func (s *Store) eachLedger(ctx context.Context, keyspace models.Keyspace, b tokenRange, each func(store.KeyLedger) error) error {
	key, ledger := models.Key{Keyspace: keyspace}, models.TableOf(keyspace, models.LedgerTable)
	features := make([]string, len(s.plan.Features()))
	var row store.LedgerRow
	columns := []any{&key.Name}
	if keyspace == models.Cardinality {
		columns = append(columns, &key.Month)
		for i := range features {
			columns = append(columns, &features[i])
		}
	}
	columns = append(columns, row.Columns()...)

	var last store.KeyLedger
	query := s.session.Query(`SELECT ` + s.schema.List(ledger.Partition, ledger.Rows, ledger.Values) + ` FROM ` + s.schema.Name(ledger) +
		b.where(s.schema.List(ledger.Partition))).WithContext(ctx).PageSize(1000).RetryPolicy(patience)
	var failed error // each's own
	err := cql.Each(query, func() error {
		if keyspace == models.Cardinality {
			key.Features = models.NewFeatures(features...)
		}
		if key != last.Key && len(last.Rows) > 0 {
			if failed = each(last); failed != nil {
				return failed
			}
			last.Rows = nil
		}
		last.Key, last.Rows = key, append(last.Rows, row)
		return nil
	}, columns...)
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("reading ledgers: %w", markDisconnected(err))
	}
	if len(last.Rows) > 0 {
		return each(last)
	}
	return nil
}

// Sums implements store.AuditStore: it reads one token range of each table, and the ledger after that.
func (s *Store) Sums(ctx context.Context, links []models.Key) (map[models.Key]store.LinkSums, error) {
	sums := make(map[models.Key]store.LinkSums, len(links))
	for _, link := range links {
		sums[link] = store.LinkSums{Counters: map[string]int64{}}
	}
	tokens, all := around(links), s.linkTables()
	var mu sync.Mutex
	err := s.each(ctx, len(all), func(ctx context.Context, i int) error {
		counter := all[i][0]
		if counter.AddsUpTo == "" && counter.Name != models.ClickCounter {
			return nil
		}
		key := models.Key{Keyspace: models.URLShortener}
		var sum int64
		by, columns := `short_url`, []any{&key.Name}
		if tag := counter.ColumnOf(models.KindTag); tag != "" {
			by, columns = by+`, `+tag, append(columns, &counter.Name)
		}
		query := s.session.Query(`SELECT ` + by + `, SUM(value) FROM ` + s.names.URLShortener + `.` + counter.Table + tokens.where(`short_url`) + ` GROUP BY ` + by).WithContext(ctx).PageSize(1000).RetryPolicy(patience)
		err := cql.Each(query, func() error {
			mu.Lock()
			defer mu.Unlock()
			if link, wanted := sums[key]; wanted {
				link.Counters[counter.Name] = sum
			}
			return nil
		}, append(columns, &sum)...)
		if err != nil {
			return fmt.Errorf("adding up %s: %w", counter.Table, markDisconnected(err))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = s.eachLedger(ctx, models.URLShortener, tokens, func(k store.KeyLedger) error {
		if link, wanted := sums[k.Key]; wanted {
			link.Ledger = k.Rows
			sums[k.Key] = link
		}
		return nil
	})
	return sums, err
}

// walkTTL is how long the progress of a stopped walk is kept, in seconds.
const walkTTL = 7 * 24 * 3600

// Walked implements store.WalkStore. The progress is a row of settings.
func (s *Store) Walked(ctx context.Context, walk string) (string, error) {
	return migrations.Setting(ctx, s.session, s.names, "walk: "+walk)
}

// NoteWalked implements store.WalkStore.
func (s *Store) NoteWalked(ctx context.Context, walk, progress string) error {
	if progress == "" {
		return s.exec(ctx, "ending the walk", `DELETE FROM `+s.names.Footfall+`.settings WHERE name = ?`, "walk: "+walk)
	}
	return s.exec(ctx, "noting the walk's progress", `INSERT INTO `+s.names.Footfall+`.settings (name, value) VALUES (?, ?) USING TTL ?`, "walk: "+walk,
		progress, walkTTL)
}
