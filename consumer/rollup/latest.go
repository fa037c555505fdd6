package rollup

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

// maxLatestTTL bounds latest.ttl: Cassandra rejects a row that expires after January 2038.
const maxLatestTTL = 5 * 365 * 24 * time.Hour

// latest stores rows about clicks for a while; nil stores none.
type latest struct {
	store store.LatestStore
	ttl   time.Duration
}

func newLatest(cfg configs.Latest, db store.Store) (*latest, error) {
	if !cfg.Enabled {
		return nil, nil
	}
	if cfg.TTL < time.Second || cfg.TTL > maxLatestTTL {
		return nil, fmt.Errorf("latest.ttl is %v: want 1s to %v", cfg.TTL, maxLatestTTL)
	}
	keeps, ok := db.(store.LatestStore)
	if !ok {
		return nil, errors.New("latest.enabled: this store does not keep the latest clicks")
	}
	return &latest{keeps, cfg.TTL}, nil
}

// keep stores the rows of the chunk's clicks. A row depends on the event and its position alone, so it does no harm to write
// it again, counted or not.
func (l *latest) keep(ctx context.Context, events iter.Seq2[int, *eventlog.Counted]) error {
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
