// Package latest keeps the latest clicks.
package latest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// MaxTTL bounds latest.ttl and visitors.ip_ttl: Cassandra rejects a row that expires after January 2038.
const MaxTTL = 5 * 365 * 24 * time.Hour

// Clicks stores rows about clicks for a while; nil stores none. Safe for concurrent use.
type Clicks struct {
	store store.LatestStore
	ttl   time.Duration
}

// New returns nil if the configuration does not enable it. It returns an error if the ttl is out of bounds, or the store keeps no such rows.
func New(cfg configs.Latest, db store.Store) (*Clicks, error) {
	if !cfg.Enabled {
		return nil, nil
	}
	if cfg.TTL < time.Second || cfg.TTL > MaxTTL {
		return nil, fmt.Errorf("latest.ttl is %v: want 1s to %v", cfg.TTL, MaxTTL)
	}
	keeps, ok := db.(store.LatestStore)
	if !ok {
		return nil, errors.New("latest.enabled: this store does not keep the latest clicks")
	}
	return &Clicks{keeps, cfg.TTL}, nil
}

// Keep stores the rows of the clicks among the events. A row depends on the event and its position alone, so it does no harm to write
// it again, counted or not.
func (l *Clicks) Keep(ctx context.Context, events iter.Seq2[int, *eventlog.Counted]) error {
	if l == nil {
		return nil
	}
	oldest := models.Millis(time.Now().Add(-l.ttl).UnixMilli())
	var rows []models.LatestClick
	for _, e := range events {
		if c, ok := e.Event.(*models.Click); ok && c.TS > oldest {
			rows = append(rows, c.Latest(e.Position()))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return l.store.KeepLatest(ctx, rows, l.ttl)
}
