package rollup

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/fence"
	"footfall/consumer/store/memstore"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// The answers to a member's heartbeats open its fence, and those to one that was expelled do not.
func TestOnlyAMembersHeartbeatsOpenItsFence(t *testing.T) {
	onBoth(t, 1, onlyAMembersHeartbeats)
	t.Run("three brokers", func(t *testing.T) { onlyAMembersHeartbeats(t, benchOf(t, 3, 1)) })
}

func onlyAMembersHeartbeats(t *testing.T, b *bench) {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: b.cfg.Kafka.Group, Brokers: b.cfg.Kafka.Brokers, Topics: []string{b.cfg.Kafka.Topics.Clicks}})
	if err != nil {
		t.Fatal(err)
	}
	gen, err := group.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// asks tells whether a fence asks the store although the member sends heartbeats, and whether it still sends any.
	asks := func() (asks, beats bool) {
		// Nobody owns the partition in this store: a fence that asks it refuses.
		f := &fence.Fence{Store: memstore.New(), Owner: "a", Partitions: []models.Partition{{Topic: b.cfg.Kafka.Topics.Clicks}}, Session: time.Hour}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		f.Beat(ctx, dial.Plain(b.cfg.Kafka.Brokers...), gen, 100*time.Millisecond)
		err := f.Check(t.Context())
		if err != nil && !errors.Is(err, eventlog.ErrTaken) {
			t.Error(err)
		}
		return err != nil, ctx.Err() != nil
	}
	if asks, beats := asks(); asks || !beats {
		t.Errorf("of a member: asks %v, sends heartbeats %v", asks, beats)
	}
	if err := group.Close(); err != nil {
		t.Fatal(err)
	}
	if asks, beats := asks(); !asks || beats {
		t.Errorf("of one that left: asks %v, sends heartbeats %v", asks, beats)
	}
}
