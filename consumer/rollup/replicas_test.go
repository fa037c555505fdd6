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

// Twelve consumers of two topics with six partitions each: every one has a partition.
func TestTwelveReplicasAllHaveWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	onBoth(t, 6, func(t *testing.T, b *bench) {
		const replicas = 12
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		ended := make(chan error, replicas)
		for range replicas {
			c, err := New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			go func() { ended <- c.Run(ctx) }()
		}
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
