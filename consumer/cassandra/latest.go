package cassandra

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

var _ store.LatestStore = (*Store)(nil)

// KeepLatest implements store.LatestStore: a batch for many clicks of a link and day. A row lives until ttl after its click,
// not after its writing, and is written as of the click: what was deleted since stays so when it is written again.
func (s *Store) KeepLatest(ctx context.Context, clicks []models.LatestClick, ttl time.Duration) error {
	type partition struct {
		link string
		day  models.Millis
	}
	byPartition := map[partition][]models.LatestClick{}
	for _, c := range clicks {
		p := partition{c.ShortURL, c.Day}
		byPartition[p] = append(byPartition[p], c)
	}
	var batches [][]models.LatestClick
	for _, group := range byPartition {
		batches = slices.AppendSeq(batches, slices.Chunk(group, rowsPerRequest))
	}
	now := time.Now()
	err := s.each(ctx, len(batches), func(ctx context.Context, i int) error {
		batch := s.newBatch(ctx, kindLatest, gocql.UnloggedBatch)
		for _, c := range batches[i] {
			at := c.TS.Time()
			left := min(at.Add(ttl).Sub(now), ttl).Round(time.Second) // a click may be ahead of its time
			if left < time.Second {
				continue
			}
			if at.After(now) {
				at = now
			}
			batch.Query(s.cql.latest, c.ShortURL, c.Day.Time(), gocql.UUID(c.At), c.Country, c.Referrer, c.IP, c.Bot, c.ID,
				at.UnixMicro(), int(left.Seconds()))
		}
		if batch.Size() == 0 {
			return nil
		}
		return s.session.ExecuteBatch(batch)
	})
	if err != nil {
		return fmt.Errorf("keeping the latest clicks: %w", told(err))
	}
	return nil
}
