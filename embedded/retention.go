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

// retention bounds the log by data.log_bytes and data.log_age, but keeps what counting needs. Dead letters are never counted, so none of
// them are needed.
func retention(cfg configs.Embedded, producer configs.Producer, counting configs.Consumer, store *sqlite.Store) broker.Retention {
	return broker.Retention{
		Bytes: cfg.Data.LogBytes, Age: cfg.Data.LogAge, Window: int64(counting.Duplicates.Window), IDAge: counting.Duplicates.Age,
		Counted: func(ctx context.Context, log string) (map[models.Partition]int64, error) {
			counted, err := store.Counted(ctx, log)
			if err == nil && len(counted) > 0 {
				for n := range producer.Kafka.Partitions {
					counted[models.Partition{Topic: producer.Kafka.Topics.Dead, Number: n}] = math.MaxInt64
				}
			}
			return counted, err
		},
	}
}

// trimInterval is how often the log is trimmed while footfall runs. It is a variable for tests.
var trimInterval = time.Minute

// trim trims the log every trimInterval until ctx ends, and once more then: a consumer that has ended has noted all that it counted. It
// must have returned before the broker is closed.
func trim(ctx context.Context, log *broker.Broker, logger *slog.Logger) error {
	ticker := time.NewTicker(trimInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
		if err := log.Trim(context.WithoutCancel(ctx)); err != nil {
			logger.Warn("trimming the log failed; the next try is in a minute or at the next start", "error", err)
		}
	}
	return nil
}
