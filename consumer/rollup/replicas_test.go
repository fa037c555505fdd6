package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/internal/retry"
)

// Twelve consumers of two topics with six partitions each: every one has a partition. They come one after the other while a member of an
// earlier version is in the group, which divides in kafka-go's way; when it leaves, the group divides in ours.
func TestTwelveReplicasAllHaveWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	onBoth(t, 6, func(t *testing.T, b *bench) {
		const replicas = 12
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		leave := b.joinAsBefore(ctx, t)
		ended := make(chan error, replicas)
		for range replicas {
			c, err := New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			go func() { ended <- c.Run(ctx) }()
		}
		b.await(ctx, t, "all are in one group", func(g kafka.DescribeGroupsResponseGroup) error {
			if idle := idleMembers(g); len(g.Members) != replicas+1 || idle == 0 {
				return fmt.Errorf("%d members, %d of them idle", len(g.Members), idle)
			}
			return nil
		})
		leave()
		b.await(ctx, t, "each has one partition", func(g kafka.DescribeGroupsResponseGroup) error {
			if len(g.Members) != replicas {
				return fmt.Errorf("%d members", len(g.Members))
			}
			for _, m := range g.Members {
				if n := partitionsOf(m); n != 1 {
					return fmt.Errorf("member %s has %d partitions: %v", m.MemberID, n, m.MemberAssignments.Topics)
				}
			}
			return nil
		})
		cancel()
		for range replicas {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// joinAsBefore joins the group as versions did that had kafka-go's balancers alone, and returns how to leave it.
func (b *bench) joinAsBefore(ctx context.Context, t *testing.T) (leave func()) {
	t.Helper()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: b.cfg.Kafka.Group, Brokers: b.cfg.Kafka.Brokers, Topics: []string{b.cfg.Kafka.Topics.Clicks, b.cfg.Kafka.Topics.Visits},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := group.Next(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := group.Next(ctx); errors.Is(err, kafka.ErrGroupClosed) || ctx.Err() != nil {
				return
			}
		}
	}()
	left := false
	leave = func() {
		if left {
			return
		}
		left = true
		if err := group.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	}
	t.Cleanup(leave)
	return leave
}

// await asks Kafka for the group until check is content with it.
func (b *bench) await(ctx context.Context, t *testing.T, what string, check func(kafka.DescribeGroupsResponseGroup) error) {
	t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(b.cfg.Kafka.Brokers...), Timeout: 10 * time.Second}
	for {
		answer, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{b.cfg.Kafka.Group}})
		if err == nil {
			if g := answer.Groups[0]; g.GroupState != "Stable" {
				err = errors.New("the group is " + g.GroupState)
			} else {
				err = check(g)
			}
		}
		if err == nil {
			return
		}
		if retry.Sleep(ctx, 100*time.Millisecond) != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func partitionsOf(m kafka.DescribeGroupsResponseMember) (n int) {
	for _, topic := range m.MemberAssignments.Topics {
		n += len(topic.Partitions)
	}
	return n
}

func idleMembers(g kafka.DescribeGroupsResponseGroup) (n int) {
	for _, m := range g.Members {
		if partitionsOf(m) == 0 {
			n++
		}
	}
	return n
}
