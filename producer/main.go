// Command producer takes events over HTTP and writes them to Kafka.
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"footfall/configs"
	"footfall/internal/await"
	"footfall/internal/cli"
	"footfall/internal/health"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/internal/memlimit"
	"footfall/models"
	"footfall/producer/intake"
	"footfall/producer/links"
	"footfall/producer/links/cassandra"
)

// action is what a command does.
type action func(ctx context.Context, cfg configs.Producer, stderr io.Writer) error

// commandLine is what an operator typed.
type commandLine struct {
	file   string
	wait   time.Duration // of topics
	json   bool          // of doctor
	metric string
}

// program is what a producer can be asked to do. Flags go into line. The doctor prints to stdout.
func program(line *commandLine, stdout io.Writer) *cli.Program[action] {
	return &cli.Program[action]{
		Name: "producer", About: "Takes events over HTTP and writes them to Kafka.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&line.file, "config", "", "a `FILE` with keys of configs/producer.yaml")
		},
		Commands: []cli.Command[action]{
			{Short: "serve until SIGTERM or SIGINT", Run: serve},
			{Name: "topics", Args: "[--wait 10m]", Short: "create the missing Kafka topics and exit", Long: topicsHelp,
				Run: func(ctx context.Context, cfg configs.Producer, stderr io.Writer) error {
					return createTopics(ctx, cfg, line.wait, stderr)
				},
				Flags: func(f *flag.FlagSet) {
					f.DurationVar(&line.wait, "wait", 0, "wait for Kafka up to this `TIME`, such as 10m; half a minute if not given")
				}},
			{Name: "healthz", Short: "ask the producer at http.admin_addr whether it is ready; exit 0 or 1", Run: healthz},
			{Name: "doctor", Args: "[--json] [--metric FILE]", Short: "examine configuration, keys, Kafka and the running producer; exit 0 or 1", Long: doctorHelp,
				Run: func(ctx context.Context, cfg configs.Producer, _ io.Writer) error {
					return examine(ctx, cfg, *line, stdout)
				},
				Flags: func(f *flag.FlagSet) {
					f.BoolVar(&line.json, "json", false, "print the findings as JSON, in one line")
					f.StringVar(&line.metric, "metric", "", "write the findings as metrics to this `FILE`, for node_exporter; -: print them instead")
				}},
		},
		More: "Every key of configs/producer.yaml can be set in FILE or in the environment (FOOTFALL_HTTP_ADDR, ...).",
	}
}

func main() {
	memlimit.Apply()
	os.Exit(cli.Main("producer", command))
}

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var line commandLine
	c, _, told, err := program(&line, stdout).Parse(args, stdout)
	if told || err != nil {
		return err
	}
	cfg, err := configs.LoadProducer(line.file)
	if err != nil {
		return err
	}
	if _, err := models.NewPlan(cfg.Features, models.AllMetrics()); err != nil {
		return configs.MarkWrong(err)
	}
	return c.Run(ctx, cfg, stderr)
}

const topicsHelp = `Creates the missing Kafka topics, with kafka.partitions and kafka.replication_factor, and exits. It waits half a minute for
Kafka. With --wait it tries again for so long, and logs every ten seconds what it waits for: that is for jobs
which start together with Kafka.
`

func createTopics(ctx context.Context, cfg configs.Producer, wait time.Duration, stderr io.Writer) error {
	k := cfg.Kafka
	names := []string{k.Topics.Clicks, k.Topics.Visits, k.Topics.Dead}
	via, err := dial.New(k.KafkaClient)
	if err != nil {
		return err
	}
	ensure := func(ctx context.Context) error {
		return topics.EnsureNewest(ctx, via, names, k.Partitions, k.ReplicationFactor, true)
	}
	if wait <= 0 {
		return ensure(ctx)
	}
	waiting := await.New(newLog(cfg, stderr))
	waiting.Limit = wait
	return waiting.For(ctx, "Kafka", func(ctx context.Context) error {
		if err := topics.Reach(ctx, via); err != nil {
			return err
		}
		return ensure(ctx)
	})
}

func newLog(cfg configs.Producer, stderr io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
}

func healthz(ctx context.Context, cfg configs.Producer, _ io.Writer) error {
	return health.Ask(ctx, "http.admin_addr", cfg.HTTP.AdminAddr)
}

func serve(ctx context.Context, cfg configs.Producer, stderr io.Writer) error {
	if err := intake.Check(cfg); err != nil { // before it waits for anything
		return err
	}
	if cfg.Links.Enabled {
		if err := cassandra.Check(cfg.Cassandra); err != nil {
			return err
		}
	}
	log := newLog(cfg, stderr)
	return cli.Logged(log, "producer", run(ctx, cfg, log))
}

// ballast is an allocation that is never touched, so it takes no memory. The garbage collector runs when the garbage is as large
// as the memory in use. The producer keeps few megabytes alive and makes many times as much garbage a second: without the
// ballast the collector would run all the time.
const ballast = 32 << 20

// run serves until ctx ends.
func run(ctx context.Context, cfg configs.Producer, log *slog.Logger) error {
	if os.Getenv("GOGC") == "" && memlimit.Now() > 8*ballast { // it counts against the memory limit
		defer runtime.KeepAlive(make([]byte, ballast))
	}
	var store *cassandra.Links
	defer func() {
		if store != nil {
			store.Close()
		}
	}()
	open := func(ctx context.Context) (_ links.Store, err error) {
		if store, err = cassandra.Open(ctx, cfg.Cassandra); err != nil {
			return nil, err
		}
		return store, nil
	}
	return intake.Run(ctx, cfg, open, health.NewRegistry("producer"), log, func(string, string) {})
}
