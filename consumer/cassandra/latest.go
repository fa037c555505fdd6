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

// KeepLatest implements store.LatestStore: batches of clicks of one link and day. A row expires ttl after its click, not after it is written.
// Its write timestamp is the click's time: a deleted row stays deleted when a replay writes it again.
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
			left := min(at.Add(ttl).Sub(now), ttl).Round(time.Second) // min: a click's time may lie in the future
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
		return fmt.Errorf("keeping the latest clicks: %w", markDisconnected(err))
	}
	return nil
}
