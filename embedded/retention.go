package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/embedded/broker"
	"footfall/embedded/sqlite"
	"footfall/internal/kafka/dial"
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

// sayForever makes the broker say what it does: no event of these topics goes because of its age before it is counted. kfake would tell
// Kafka's default of a week.
func sayForever(ctx context.Context, via dial.Kafka, topics []string) error {
	request := &kafka.IncrementalAlterConfigsRequest{}
	for _, topic := range topics {
		request.Resources = append(request.Resources, kafka.IncrementalAlterConfigsRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "retention.ms", Value: "-1"}},
		})
	}
	answer, err := via.Client(10*time.Second).IncrementalAlterConfigs(ctx, request)
	if err == nil {
		for _, r := range answer.Resources {
			err = errors.Join(err, r.Error)
		}
	}
	if err != nil {
		return fmt.Errorf("setting retention.ms: %w", err)
	}
	return nil
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
