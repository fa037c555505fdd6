package main

import (
	"context"
	"log/slog"
	"math"
	"time"

	"footfall/configs"
	"footfall/embedded/broker"
	"footfall/embedded/sqlite"
	"footfall/models"
)

// retention is what is kept of the log: what data.log_bytes and data.log_age say, and what counting needs in any case. Nobody counts
// dead letters.
func retention(cfg configs.Embedded, door configs.Producer, counting configs.Consumer, store *sqlite.Store) broker.Retention {
	return broker.Retention{
		Bytes: cfg.Data.LogBytes, Age: cfg.Data.LogAge, Window: int64(counting.Duplicates.Window), IDAge: counting.Duplicates.Age,
		Counted: func(ctx context.Context, log string) (map[models.Partition]int64, error) {
			counted, err := store.Counted(ctx, log)
			if err == nil && len(counted) > 0 {
				for n := range door.Kafka.Partitions {
					counted[models.Partition{Topic: door.Kafka.Topics.Dead, Number: n}] = math.MaxInt64
				}
			}
			return counted, err
		},
	}
}

// trimInterval is how often the log is bounded while footfall runs. Tests have less patience.
var trimInterval = time.Minute

// trim bounds the log until ctx ends; then it returns nil. It must have ended before the broker is closed.
func trim(ctx context.Context, log *broker.Broker, logger *slog.Logger) error {
	ticker := time.NewTicker(trimInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := log.Trim(ctx); err != nil && ctx.Err() == nil {
			logger.Warn("the log was not made smaller; trying again in a minute", "error", err)
		}
	}
}
