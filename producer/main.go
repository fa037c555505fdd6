// Command producer is the door of footfall: it takes events over HTTP and writes them to Kafka.
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
	"runtime"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"footfall/configs"
	"footfall/internal/health"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/producer/intake"
	"footfall/producer/links/cassandra"
)

const usage = `Usage: producer [--config FILE] [COMMAND]

Takes events over HTTP and writes them to Kafka.

Commands:
  (none)    serve until SIGTERM or SIGINT
  topics    create the missing Kafka topics and exit
  healthz   ask the producer at http.admin_addr whether it is ready; exit 0 or 1

Every key of configs/producer.yaml can be set in FILE or in the environment (FOOTFALL_HTTP_ADDR, ...).
`

// errUsage marks a mistake in the command line; errTold a failure that the log has already.
var errUsage, errTold = errors.New("see producer --help"), errors.New("the log has it")

func main() { os.Exit(run()) }

// run is main with an exit code: 0 done, 1 failed, 2 a mistake in the command line or the configuration.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errTold) {
		fmt.Fprintln(os.Stderr, "producer:", err)
	}
	if errors.Is(err, errUsage) || wrong(err) {
		return 2
	}
	return 1
}

// wrong tells whether an error is one of the configuration.
func wrong(err error) bool {
	var marked *configs.Wrong
	return errors.As(err, &marked)
}

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name, file, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(stdout, usage)
		return err
	}
	if err != nil {
		return err
	}
	cfg, err := configs.LoadProducer(file)
	if err != nil {
		return err
	}
	if _, err := models.NewPlan(cfg.Features, models.AllMetrics()); err != nil {
		return configs.MarkWrong(err)
	}
	switch name {
	case "topics":
		k := cfg.Kafka
		names := []string{k.Topics.Clicks, k.Topics.Visits, k.Topics.Dead}
		via, err := dial.New(k.Brokers, k.TLS, k.SASL)
		if err != nil {
			return err
		}
		return topics.EnsureNewest(ctx, via, names, k.Partitions, k.ReplicationFactor, true)
	case "healthz":
		return health.Ask(ctx, "http.admin_addr", cfg.HTTP.AdminAddr)
	}
	if err := intake.Check(cfg); err != nil { // before Cassandra is waited for
		return err
	}
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	err = door(ctx, cfg, log)
	if err == nil || wrong(err) {
		return err
	}
	log.Error("the producer ends", "error", err.Error()) // for whoever reads the rest of the log
	return errTold
}

// ballast is memory that is never touched, and so takes none. A door keeps few megabytes and makes many times as much garbage a
// second: the collector, which comes when there is as much garbage as there is memory in use, would come all the time.
const ballast = 32 << 20

// door runs until ctx ends.
func door(ctx context.Context, cfg configs.Producer, log *slog.Logger) error {
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

// parse takes flags before and after the name of the command.
func parse(args []string) (name, file string, err error) {
	flags := flag.NewFlagSet("producer", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed once, by run
	flags.StringVar(&file, "config", "", "")
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return "", "", err
			}
			return "", "", fmt.Errorf("%w; %w", err, errUsage)
		}
		if flags.NArg() == 0 {
			return name, file, nil
		}
		if name != "" || (flags.Arg(0) != "topics" && flags.Arg(0) != "healthz") {
			return "", "", fmt.Errorf("unknown argument %q; %w", flags.Arg(0), errUsage)
		}
		name, args = flags.Arg(0), flags.Args()[1:]
	}
}
