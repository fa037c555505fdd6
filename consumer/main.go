// Command consumer counts the events of the Kafka topics into Cassandra. Run as many as you like: they share the
// partitions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/rollup"
)

const usage = `usage: consumer [--config FILE] [COMMAND]

Counts visits and clicks from Kafka into Cassandra. Replicas share the work.

commands:
  (none)    count until stopped; SIGTERM flushes, commits and leaves the group
  migrate   bring the schema of the keyspaces up to date
  audit [--repair]
            hold every key's ledger against the rule that each event is counted once, and
            links' totals against their parts; with --repair mend what is off from the log.
            Safe while consumers run. Exits 1 if something is wrong and was not repaired
  healthz   ask the consumer at http.addr whether it is ready; exits 0 or 1

Every key of configs/consumer.yaml can be set in the environment: kafka.brokers as
FOOTFALL_KAFKA_BROKERS, cassandra.hosts as FOOTFALL_CASSANDRA_HOSTS.

`

func main() { os.Exit(run(os.Args[1:])) }

// run is main with an exit code: 0 done, 1 failed, 2 wrong usage.
func run(args []string) int {
	flags := flag.NewFlagSet("consumer", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("config", "", "")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return 0
	}
	command := strings.Join(flags.Args(), " ")
	commands := map[string]func(context.Context, configs.Consumer, *slog.Logger) error{
		"": count, "migrate": migrate, "audit": audit(false), "audit --repair": audit(true), "healthz": healthz,
	}
	do, known := commands[command]
	if err == nil && !known {
		err = fmt.Errorf("unknown command %q", command)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "consumer: %v (consumer --help tells)\n", err)
		return 2
	}
	cfg, err := configs.LoadConsumer(*file)
	if err != nil {
		fmt.Fprintf(os.Stderr, "consumer: %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	if err := do(ctx, cfg, log); err != nil {
		log.Error("consumer failed", "command", command, "error", err.Error())
		return 1
	}
	return 0
}

func migrate(ctx context.Context, cfg configs.Consumer, _ *slog.Logger) error {
	return cassandra.Migrate(ctx, cfg.Cassandra, func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
	})
}

func count(ctx context.Context, cfg configs.Consumer, log *slog.Logger) error {
	store, err := cassandra.Open(ctx, cfg.Cassandra)
	if err != nil {
		return err
	}
	defer store.Close()
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := checkDurable(ctx, store, cfg.Cassandra.RequireDurable, reg, log); err != nil {
		return err
	}
	consumer, err := rollup.New(cfg, store, reg, log)
	if err != nil {
		return err
	}
	listener, err := listen(cfg.HTTP.Addr)
	if err != nil {
		return err
	}
	log.Info("consumer started", "addr", listener.Addr().String(), "group", cfg.Kafka.Group)
	group, ctx := errgroup.WithContext(ctx)
	answering, done := context.WithCancel(context.WithoutCancel(ctx)) // until the last flush is over
	group.Go(func() error { return serveHealth(answering, listener, reg, consumer.Ready) })
	group.Go(func() error {
		defer done()
		return consumer.Run(ctx)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info("consumer stopped")
	return nil
}

// checkDurable warns, in the log and in a metric, when a crash of a Cassandra node can cost acknowledged writes.
func checkDurable(ctx context.Context, store *cassandra.Store, require bool, reg prometheus.Registerer, log *slog.Logger) error {
	sync, err := store.CommitlogSync(ctx)
	if err != nil {
		return err
	}
	durable := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "footfall_store_durable",
		Help: "1 if commitlog_sync is group or batch; else counts are exact only while no Cassandra node crashes.",
	})
	reg.MustRegister(durable)
	if sync == "group" || sync == "batch" {
		durable.Set(1)
		return nil
	}
	if require {
		return fmt.Errorf("commitlog_sync is %q, but cassandra.require_durable is set: use group or batch in cassandra.yaml", sync)
	}
	log.Warn("counts are exact only while no Cassandra node crashes: set commitlog_sync to group or batch", "commitlog_sync", sync)
	return nil
}
