package cassandra

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

// NoteTail implements store.Store. It needs no transaction: every tail that a consumer notes is true, even if it is not the latest.
func (s *Store) NoteTail(ctx context.Context, p models.Partition, t store.Tail) error {
	err := s.session.Query(`INSERT INTO `+s.names.Footfall+`.tails (topic, kafka_partition, tail) VALUES (?, ?, ?)`,
		p.Topic, p.Number, t.String()).WithContext(ctx).Exec()
	if err != nil {
		return fmt.Errorf("noting the tail of partition %d of %s: %w", p.Number, p.Topic, err)
	}
	return nil
}

// Tail implements store.Store.
func (s *Store) Tail(ctx context.Context, p models.Partition) (store.Tail, error) {
	var text string
	err := s.session.Query(`SELECT tail FROM `+s.names.Footfall+`.tails WHERE topic = ? AND kafka_partition = ?`,
		p.Topic, p.Number).WithContext(ctx).Scan(&text)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return store.Tail{}, fmt.Errorf("reading the tail of partition %d of %s: %w", p.Number, p.Topic, err)
	}
	return store.ReadTail(text)
}

// NoteProgress implements store.Store: one batch of one partition.
func (s *Store) NoteProgress(ctx context.Context, rows []store.Progress) error {
	batch := s.session.NewBatch(gocql.UnloggedBatch).WithContext(ctx)
	for _, row := range rows {
		var eventTime any = gocql.UnsetValue // what was noted stays
		if !row.EventTime.IsZero() {
			eventTime = row.EventTime
		}
		batch.Query(`INSERT INTO `+s.names.Footfall+`.progress (name, topic, kafka_partition, counted, log_end, event_time, at)`+
			` VALUES ('counted', ?, ?, ?, ?, ?, ?)`, row.Partition.Topic, row.Partition.Number, row.Counted, row.LogEnd, eventTime, row.At)
	}
	if len(rows) == 0 {
		return ctx.Err()
	}
	if err := s.session.ExecuteBatch(batch); err != nil {
		return fmt.Errorf("noting how far %d partitions are: %w", len(rows), err)
	}
	return nil
}
