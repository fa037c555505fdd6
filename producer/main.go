// Command producer takes events over HTTP and writes them to Kafka.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"footfall/configs"
	"footfall/internal/cli"
	"footfall/internal/health"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/producer/intake"
	"footfall/producer/links/cassandra"
)

// action is what a command does.
type action func(ctx context.Context, cfg configs.Producer, stderr io.Writer) error

// program is what a producer can be asked to do. The flag goes into file.
func program(file *string) *cli.Program[action] {
	return &cli.Program[action]{
		Name: "producer", About: "Takes events over HTTP and writes them to Kafka.",
		Flags: func(f *flag.FlagSet) { f.StringVar(file, "config", "", "a `FILE` with keys of configs/producer.yaml") },
		Commands: []cli.Command[action]{
			{Short: "serve until SIGTERM or SIGINT", Run: serve},
			{Name: "topics", Short: "create the missing Kafka topics and exit", Run: createTopics},
			{Name: "healthz", Short: "ask the producer at http.admin_addr whether it is ready; exit 0 or 1", Run: healthz},
		},
		More: "Every key of configs/producer.yaml can be set in FILE or in the environment (FOOTFALL_HTTP_ADDR, ...).",
	}
}

func main() { os.Exit(cli.Main("producer", command)) }

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var file string
	c, _, told, err := program(&file).Parse(args, stdout)
	if told || err != nil {
		return err
	}
	cfg, err := configs.LoadProducer(file)
	if err != nil {
		return err
	}
	if _, err := models.NewPlan(cfg.Features, models.AllMetrics()); err != nil {
		return configs.MarkWrong(err)
	}
	return c.Run(ctx, cfg, stderr)
}

func createTopics(ctx context.Context, cfg configs.Producer, _ io.Writer) error {
	k := cfg.Kafka
	names := []string{k.Topics.Clicks, k.Topics.Visits, k.Topics.Dead}
	via, err := dial.New(k.Brokers, k.TLS, k.SASL)
	if err != nil {
		return err
	}
	return topics.EnsureNewest(ctx, via, names, k.Partitions, k.ReplicationFactor, true)
}

func healthz(ctx context.Context, cfg configs.Producer, _ io.Writer) error {
	return health.Ask(ctx, "http.admin_addr", cfg.HTTP.AdminAddr)
}

func serve(ctx context.Context, cfg configs.Producer, stderr io.Writer) error {
	if err := intake.Check(cfg); err != nil { // before it waits for Cassandra
		return err
	}
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	err := run(ctx, cfg, log)
	if wrong := (*configs.Wrong)(nil); err == nil || errors.As(err, &wrong) {
		return err
	}
	log.Error("the producer ends", "error", err.Error()) // the log should say why it ends
	return cli.ErrLogged
}

// ballast is an allocation that is never touched, so it takes no memory. The garbage collector runs when the garbage is as large
// as the memory in use. The producer keeps few megabytes alive and makes many times as much garbage a second: without the
// ballast the collector would run all the time.
const ballast = 32 << 20

// run serves until ctx ends.
func run(ctx context.Context, cfg configs.Producer, log *slog.Logger) error {
	if os.Getenv("GOGC") == "" {
		defer runtime.KeepAlive(make([]byte, ballast))
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if !cfg.Links.Enabled {
		return intake.Run(ctx, cfg, nil, reg, log, func(string, string) {})
	}
	store, err := cassandra.Open(ctx, cfg.Cassandra)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // asked to stop while still waiting for Cassandra
	}
	if err != nil {
		return fmt.Errorf("opening the store of links: %w", err)
	}
	defer store.Close()
	return intake.Run(ctx, cfg, store, reg, log, func(string, string) {})
}
