// Command control is a consumer that lacks one safeguard, named by FOOTFALL_TEST_CONTROL. It is for the fault tests only, which check
// that their oracle finds its counts wrong. All other configuration is the consumer's.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/gocql/gocql"
	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/rollup"
	"footfall/models"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("control failed", "error", err.Error())
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		return err
	}
	plan, err := models.NewPlan(cfg.Features, cfg.Metrics)
	if err != nil {
		return err
	}
	safeguard := os.Getenv("FOOTFALL_TEST_CONTROL")
	real, err := cassandra.Open(ctx, cfg.Cassandra, plan, func(c *gocql.ClusterConfig) {
		if safeguard == "one-attempt" {
			c.RetryPolicy = &sameHost{gocql.SimpleRetryPolicy{NumRetries: 5}}
		}
	})
	if err != nil {
		return err
	}
	defer real.Close()
	store, err := without(safeguard, real)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.HTTP.Addr) // only for the address in the log; no request is answered
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	defer func() { _ = listener.Close() }()
	log.Info("consumer started", "addr", listener.Addr().String())
	consumer, err := rollup.New(cfg, store, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	return consumer.Run(ctx)
}
