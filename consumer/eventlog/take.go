package eventlog

import (
	"context"
	"errors"
	"log/slog"

	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// TakePartition makes owner the owner of a partition. It retries until the store answers or ctx ends.
func TakePartition(ctx context.Context, db store.Store, p models.Partition, owner string, log *slog.Logger) (store.Tenure, error) {
	for attempt := 0; ; attempt++ {
		t, err := db.Take(ctx, p, owner)
		if err == nil || ctx.Err() != nil {
			return t, err
		}
		log.Warn("taking a partition failed; trying again", "topic", p.Topic, "partition", p.Number, "attempt", attempt+1, "error", err)
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return t, err
		}
	}
}

// ErrTaken says that another consumer owns the partition now.
var ErrTaken = errors.New("taken by another owner")
