// Command consumer counts the events of the Kafka topics into Cassandra. Run as many as you like: they share the
// partitions.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/gcpacer"
	"footfall/consumer/rollup"
	"footfall/internal/health"
	"footfall/migrations"
	"footfall/models"
)

const usage = `Usage: consumer [--config FILE] [COMMAND]

Counts visits and clicks from Kafka into Cassandra. Replicas share the work.

Commands:
  (none)    count until SIGTERM or SIGINT; then flush, commit and leave the group
  migrate   bring the schema of the keyspaces up to date; new ones are made for the configured
            features and metrics, and keep them
  acknowledge-replication
            record another replication of the keyspaces, so that consumers count again. First stop
            all consumers, ALTER KEYSPACE, and run nodetool repair --full on every node
  audit [--repair] [--resume]
            check in every key's ledger that each event is counted once, and compare links'
            totals with their parts. --repair mends from the log what is off; --resume goes on
            with an audit that was stopped within the last week. Consumers may run meanwhile.
            Exits 1 if something is wrong and was not repaired
  retire --before YYYY-MM [--wait 30m] [--force]
            remove the rows that remember the visitors of intervals which are over by the first
            of that month; counts stay, and visits before it are refused from now on
  grow --topic TOPIC --partitions N [--wait 30m]
            give a topic another number of partitions, while events come in and consumers run
  forget [--guid GUID]... [--ip IP]...
            remove the rows that remember these visitors; counts stay
  rebuild --keyspace-suffix SUFFIX [--from-file VISITS.CSV [--site SITE] [--compare=false]]
            count the topics, or a file of visits, once more into a second set of tables, and
            compare all counts with the ones in use
  accept-gap [--at-most N]
            list the events that consumers refuse to leave out, because Kafka has deleted them or
            the group was moved past them; with --at-most go on without them. Stop all consumers
            first
  healthz   ask the consumer at http.addr whether it is ready; exit 0 or 1

retire, grow, forget, rebuild and accept-gap tell more with --help. Every key of configs/consumer.yaml can be set in
FILE or in the environment (FOOTFALL_KAFKA_BROKERS, ...).
`

// errUsage marks a mistake in the command line.
var errUsage = errors.New("see consumer --help")

func main() { os.Exit(run()) }

// run is main with an exit code: 0 done, 1 failed, 2 a mistake in the command line or the configuration.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	gcpacer.Relax()
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "consumer:", err)
	if wrong := (*configs.Wrong)(nil); errors.Is(err, errUsage) || errors.As(err, &wrong) {
		return 2
	}
	return 1
}

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	line, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(stdout, cmp.Or(help[line.name], usage))
		return err
	}
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	cfg, err := configs.LoadConsumer(line.file)
	if err == nil {
		err = rollup.Sensible(cfg)
	}
	if err != nil {
		return err
	}
	plan, err := models.NewPlan(cfg.Features, cfg.Metrics)
	if err != nil {
		return configs.MarkWrong(err)
	}
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	report := reportTo(stdout)
	switch line.name {
	case "migrate":
		return migrations.Apply(ctx, cfg.Cassandra, plan, report)
	case "acknowledge-replication":
		return cassandra.AcknowledgeReplication(ctx, cfg.Cassandra, report)
	case "audit":
		return audit(ctx, cfg, plan, log, line, report)
	case "retire":
		return retire(ctx, cfg, plan, log, line, report)
	case "grow":
		return grow(ctx, cfg, plan, log, line, report)
	case "forget":
		return forget(ctx, cfg, plan, line, report)
	case "rebuild":
		return rebuild(ctx, cfg, plan, log, line, report)
	case "accept-gap":
		return acceptGap(ctx, cfg, plan, log, line.atMost, report)
	case "healthz":
		return health.Ask(ctx, "http.addr", cfg.HTTP.Addr)
	}
	return count(ctx, cfg, plan, log)
}

// reportTo writes lines for people. They name links and sites, which are what anybody sent.
func reportTo(w io.Writer) func(format string, args ...any) {
	var one sync.Mutex
	return func(format string, args ...any) {
		one.Lock()
		defer one.Unlock()
		fmt.Fprintln(w, models.Visible(fmt.Sprintf(format, args...)))
	}
}

// commandLine is what an operator typed.
type commandLine struct {
	name, file string
	repair     bool
	resume     bool
	before     models.Millis
	wait       time.Duration
	force      bool
	guids, ips []string

	topic      string // of grow
	partitions int

	suffix, visits, site string // of rebuild
	compare              bool

	atMost int64 // of accept-gap; 0: only tell
}

// commands are those that there are, with the flags that are theirs alone.
var commands = map[string][]string{
	"migrate": nil,

	"acknowledge-replication": nil,

	"audit":      {"repair", "resume"},
	"retire":     {"before", "wait", "force"},
	"grow":       {"topic", "partitions", "wait"},
	"forget":     {"guid", "ip"},
	"rebuild":    {"keyspace-suffix", "from-file", "site", "compare"},
	"accept-gap": {"at-most"},
	"healthz":    nil,
}

// help is what a command says about itself; others are in usage.
var help = map[string]string{"retire": retireHelp, "grow": growHelp, "forget": forgetHelp, "rebuild": rebuildHelp, "accept-gap": acceptGapHelp}

// parse takes flags before and after the name of the command.
func parse(args []string) (line commandLine, err error) {
	flags := flag.NewFlagSet("consumer", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed once, by run
	flags.StringVar(&line.file, "config", "", "")
	flags.BoolVar(&line.repair, "repair", false, "")
	flags.BoolVar(&line.resume, "resume", false, "")
	var before, wait, partitions string // read below: package flag would say what is wrong twice
	var ips []string
	flags.StringVar(&before, "before", "", "")
	flags.StringVar(&wait, "wait", "30m", "")
	flags.BoolVar(&line.force, "force", false, "")
	flags.StringVar(&line.topic, "topic", "", "")
	flags.StringVar(&partitions, "partitions", "", "")
	flags.Func("guid", "", func(text string) error { line.guids = append(line.guids, text); return nil })
	flags.Func("ip", "", func(text string) error { ips = append(ips, text); return nil })
	flags.StringVar(&line.suffix, "keyspace-suffix", "", "")
	flags.StringVar(&line.visits, "from-file", "", "")
	flags.StringVar(&line.site, "site", "", "")
	flags.BoolVar(&line.compare, "compare", true, "")
	flags.Func("at-most", "", func(text string) (err error) {
		if line.atMost, err = strconv.ParseInt(text, 10, 64); err != nil || line.atMost < 1 {
			return fmt.Errorf("%q: want a number of events", text)
		}
		return nil
	})
	for {
		if err := flags.Parse(args); err != nil {
			return line, err
		}
		if flags.NArg() == 0 {
			break
		}
		if _, known := commands[flags.Arg(0)]; line.name != "" || !known {
			return line, fmt.Errorf("unknown argument %q", flags.Arg(0))
		}
		line.name, args = flags.Arg(0), flags.Args()[1:]
	}
	flags.Visit(func(f *flag.Flag) {
		if owners := ownersOf(f.Name); len(owners) > 0 && !slices.Contains(owners, line.name) {
			err = fmt.Errorf("--%s belongs to %s", f.Name, strings.Join(owners, " and "))
		}
	})
	if err == nil {
		err = line.read(before, wait, partitions, ips)
	}
	if err == nil {
		err = line.complete()
	}
	return line, err
}

// ownersOf lists the commands that a flag belongs to.
func ownersOf(flag string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if slices.Contains(commands[name], flag) {
			names = append(names, name)
		}
	}
	return names
}

// read takes in what is no plain text.
func (line *commandLine) read(before, wait, partitions string, ips []string) (err error) {
	if line.name == "retire" && before == "" {
		return errors.New("retire needs --before YYYY-MM")
	}
	if before != "" {
		if line.before, err = month(before, time.Now()); err != nil {
			return fmt.Errorf("--before %w", err)
		}
	}
	if line.wait, err = time.ParseDuration(wait); err != nil || line.wait <= 0 {
		return fmt.Errorf("--wait %q: want a time such as 30m or 2h", wait)
	}
	if line.partitions, err = strconv.Atoi(cmp.Or(partitions, "0")); err != nil || partitions != "" && line.partitions < 1 {
		return fmt.Errorf("--partitions %q: want a number from 1 on", partitions)
	}
	for _, text := range ips {
		ip, err := address(text)
		if err != nil {
			return fmt.Errorf("--ip %w", err)
		}
		line.ips = append(line.ips, ip)
	}
	return nil
}

// complete tells what a command lacks.
func (line commandLine) complete() error {
	switch {
	case line.name == "grow" && (line.topic == "" || line.partitions == 0):
		return errors.New("grow needs --topic and --partitions")
	case line.name == "forget" && len(line.guids)+len(line.ips) == 0:
		return errors.New("forget needs --guid or --ip, of either as many as you like")
	case slices.Contains(line.guids, ""):
		return errors.New("--guid is empty")
	case line.name == "rebuild" && !newSuffix.MatchString(line.suffix):
		return fmt.Errorf("rebuild needs --keyspace-suffix: 1 to 30 of a-z, 0-9 and _, not %q", line.suffix)
	case line.visits == "" && (line.site != "" || !line.compare):
		return errors.New("--site and --compare belong to --from-file")
	}
	return nil
}

func count(ctx context.Context, cfg configs.Consumer, plan *models.Plan, log *slog.Logger) error {
	store, err := cassandra.Open(ctx, cfg.Cassandra, plan)
	if err != nil {
		return err
	}
	defer store.Close()
	store.ExpireIPs(cfg.Visitors.IPTTL)
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), store)
	durable := newDurability(store, cfg.Cassandra.RequireDurable, reg, log)
	if err := durable.check(ctx); err != nil {
		return err
	}
	consumer, err := rollup.New(cfg, store, reg, log)
	if err != nil {
		return err
	}
	operators, err := health.Listen(ctx, "http.addr", cfg.HTTP.Addr)
	if err != nil {
		return err
	}
	log.Info("consumer started", "addr", operators.Addr(), "group", cfg.Kafka.Group)
	group, ctx := errgroup.WithContext(ctx)
	answering, done := context.WithCancel(context.WithoutCancel(ctx)) // until the last flush is over
	group.Go(func() error { return operators.Serve(answering, health.Handler(reg, consumer.Ready)) })
	group.Go(func() error { return durable.watch(ctx) })
	group.Go(func() error {
		defer done()
		return guarded(ctx, consumer.Run, store)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info("consumer stopped")
	return nil
}
