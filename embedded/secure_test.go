package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/configs"
	"footfall/consumer/rollup"
	"footfall/embedded/sqlite"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/dial/dialtest"
	"footfall/producer/intake"
)

// TestABrokerWithTLSAndLogin: a click goes all the way through a broker that wants both, and so does a dead letter. Each
// part of the door and of the consumer connects by itself, and each would fail alone.
func TestABrokerWithTLSAndLogin(t *testing.T) {
	files := dialtest.NewFiles(t)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(files.Server), kfake.EnableSASL(), kfake.Superuser("PLAIN", "footfall", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cfg := configs.Embedded{}
	cfg.HTTP.Addr, cfg.Access.Open = "127.0.0.1:0", true
	door, counting, plan, err := parts(cfg)
	if err != nil {
		t.Fatal(err)
	}
	door.Kafka.Brokers, counting.Kafka.Brokers = cluster.ListenAddrs()[:1], cluster.ListenAddrs()[:1]
	door.Kafka.TLS = configs.TLS{Enabled: true, CA: files.CA}
	door.Kafka.SASL = configs.SASL{Mechanism: "plain", Username: "footfall", Password: "secret"}
	door.Links.Enabled = false
	counting.Kafka.TLS, counting.Kafka.SASL = door.Kafka.TLS, door.Kafka.SASL

	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), dir, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	reg := prometheus.NewRegistry()
	consumer, err := rollup.New(counting, store, reg, discard)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan string, 1)
	background(t, func(ctx context.Context) error {
		return intake.Run(ctx, door, nil, prometheus.NewRegistry(), discard, func(addr, _ string) { opened <- addr })
	})
	mustPost(t, "http://"+<-opened, click("1", "203.0.113.7", "2018-10-01 14:05"))
	background(t, consumer.Run)
	eventually(t, reader(t, dir), 1, clicks)

	via, err := dial.New(door.Kafka.Brokers, door.Kafka.TLS, door.Kafka.SASL)
	if err != nil {
		t.Fatal(err)
	}
	w := &kafka.Writer{Addr: via.Addr(), Transport: via.Transport(), Topic: door.Kafka.Topics.Clicks, BatchTimeout: time.Millisecond}
	if err := w.WriteMessages(t.Context(), kafka.Message{Value: []byte("no click")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dead := kafka.NewReader(kafka.ReaderConfig{Brokers: via.Brokers, Dialer: via.Dialer(), GroupID: "dead", StartOffset: kafka.FirstOffset,
		Topic: door.Kafka.Topics.Dead, MaxWait: 50 * time.Millisecond})
	defer func() { _ = dead.Close() }()
	if m, err := dead.ReadMessage(ctx); err != nil || !strings.Contains(string(m.Value), "no click") {
		t.Fatalf("dead letter %q, %v", m.Value, err)
	}
}

// background runs a part until the test ends.
func background(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
