package intake

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/dial"
)

// TestPublishEndsWithItsContext: a closing door does not wait for a Kafka that is away longer than it said.
func TestPublishEndsWithItsContext(t *testing.T) {
	cfg, err := configs.LoadProducer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Kafka.Timeout = time.Minute
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	p, err := openPublisher(t.Context(), dial.Plain(cluster.ListenAddrs()...), cfg, newMetrics(prometheus.NewRegistry(), &places{}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	click := []models.Event{&models.Click{V: models.Version, ID: "i", ShortURL: "s", IP: "203.0.113.7", TS: 1436968800000}}
	if err := p.publish(t.Context(), cfg.Kafka.Topics.Clicks, click)[0]; err != nil {
		t.Fatalf("with Kafka: %v", err)
	}
	cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if got := reason(p.publish(ctx, cfg.Kafka.Topics.Clicks, click)[0]); got != kafkaUnavailable || time.Since(began) > 10*time.Second {
		t.Errorf("without Kafka: %q after %v", got, time.Since(began))
	}
}
