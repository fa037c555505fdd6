package eventlog

import (
	"context"
	"errors"
	"log/slog"

	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// TakePartition makes owner the owner of a partition. It goes on trying until the store answers or ctx ends.
func TakePartition(ctx context.Context, db store.Store, p models.Partition, owner string, log *slog.Logger) (store.Tenure, error) {
	for attempt := 0; ; attempt++ {
		t, err := db.Take(ctx, p, owner)
		if err == nil || ctx.Err() != nil {
			return t, err
		}
		log.Warn("taking partition failed; trying again", "attempt", attempt+1, "error", err)
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return t, err
		}
	}
}

// ErrTaken says that a partition belongs to somebody else.
var ErrTaken = errors.New("taken by another owner")
