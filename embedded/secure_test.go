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

// TestABrokerWithTLSAndLogin: a click is counted through a broker that requires both, and a dead letter is written. Several parts of the
// producer and of the consumer connect on their own; the test fails if one of them lacks TLS or the login.
func TestABrokerWithTLSAndLogin(t *testing.T) {
	files := dialtest.NewFiles(t)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(files.Server), kfake.EnableSASL(), kfake.Superuser("PLAIN", "footfall", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cfg := configs.Embedded{}
	cfg.HTTP.Addr, cfg.Access.Open = "127.0.0.1:0", true
	producer, counting, plan, err := parts(cfg)
	if err != nil {
		t.Fatal(err)
	}
	producer.Kafka.Brokers, counting.Kafka.Brokers = cluster.ListenAddrs()[:1], cluster.ListenAddrs()[:1]
	producer.Kafka.TLS = configs.TLS{Enabled: true, CA: files.CA}
	producer.Kafka.SASL = configs.SASL{Mechanism: "plain", Username: "footfall", Password: "secret"}
	producer.Links.Enabled = false
	counting.Kafka.TLS, counting.Kafka.SASL = producer.Kafka.TLS, producer.Kafka.SASL

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
		return intake.Run(ctx, producer, nil, prometheus.NewRegistry(), discard, func(addr, _ string) { opened <- addr })
	})
	mustPost(t, "http://"+<-opened, click("1", "203.0.113.7", "2018-10-01 14:05"))
	background(t, consumer.Run)
	eventually(t, reader(t, dir), 1, clicks)

	via, err := dial.New(producer.Kafka.KafkaClient)
	if err != nil {
		t.Fatal(err)
	}
	w := &kafka.Writer{Addr: via.Addr(), Transport: via.Transport(), Topic: producer.Kafka.Topics.Clicks, BatchTimeout: time.Millisecond}
	if err := w.WriteMessages(t.Context(), kafka.Message{Value: []byte("no click")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dead := kafka.NewReader(kafka.ReaderConfig{Brokers: via.Brokers, Dialer: via.Dialer(), GroupID: "dead", StartOffset: kafka.FirstOffset,
		Topic: producer.Kafka.Topics.Dead, MaxWait: 50 * time.Millisecond})
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
