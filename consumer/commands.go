package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"footfall/consumer/cassandra"
	"footfall/consumer/replay"
	"footfall/internal/await"
	"footfall/internal/cli"
	"footfall/internal/health"
	"footfall/migrations"
	"footfall/models"
)

// action is what a command does.
type action func(ctx context.Context, t *task) error

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

	suffix, visits, site, to string // of rebuild
	compare                  bool

	atMost int // of accept-gap; 0: only tell

	patience, limit time.Duration // of pause; 0: the default. patience also of migrate; 0: none
	rest            []string      // what pause runs

	producer, keyFile, metric string // of doctor
	named, json               bool   // named: producer was given

	again replay.Options // of replay
}

// parse reads a command line. told: it was --help or --version, and parse has answered it.
func parse(args []string, stdout io.Writer) (run action, line commandLine, told bool, err error) {
	line.wait = 30 * time.Minute
	c, rest, told, err := program(&line).Parse(args, stdout)
	line.name, line.rest = c.Name, rest
	return c.Run, line, told, err
}

// program is what a consumer can be asked to do. Flags go into line.
func program(line *commandLine) *cli.Program[action] {
	return &cli.Program[action]{
		Name: "consumer", About: "Counts visits and clicks from Kafka into Cassandra. Replicas share the work.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&line.file, "config", "", "a `FILE` with keys of configs/consumer.yaml")
		},
		Commands: append([]cli.Command[action]{
			{Short: "count until SIGTERM or SIGINT; then flush, commit and leave the group", Run: count},
			{Name: "migrate", Args: "[--wait 10m]", Short: "bring the schema of the keyspaces up to date", Long: migrateHelp, Run: migrate,
				Flags: func(f *flag.FlagSet) {
					f.Func("wait", "wait for Cassandra up to this `TIME`, such as 10m; not at all if not given", duration(&line.patience))
				}},
			{Name: "acknowledge-replication", Short: "record another replication of the keyspaces, after a repair of all nodes", Long: acknowledgeHelp, Run: acknowledge},
			{Name: "healthz", Short: "ask the consumer at http.addr whether it is ready; exit 0 or 1", Run: healthz},
		}, maintenanceCommands(line)...),
		More: "Every key of configs/consumer.yaml can be set in FILE or in the environment (FOOTFALL_KAFKA_BROKERS, ...).\n" +
			"`consumer COMMAND --help` tells more about a command.",
	}
}

// maintenanceCommands are the commands that an operator runs now and then, with flags of their own.
func maintenanceCommands(line *commandLine) []cli.Command[action] {
	wait := func(f *flag.FlagSet) {
		f.Func("wait", "wait for consumers up to this `TIME`; 30m if not given", duration(&line.wait))
	}
	return []cli.Command[action]{
		{Name: "audit", Args: "[--repair] [--resume]", Short: "check that each event is counted once; repair what is off", Long: auditHelp, Run: audit,
			Flags: func(f *flag.FlagSet) {
				f.BoolVar(&line.repair, "repair", false, "repair from the log what is off")
				f.BoolVar(&line.resume, "resume", false, "go on with an audit that was stopped within the last week")
			}},
		{Name: "retire", Args: "--before YYYY-MM [--wait 30m] [--force]", Short: "remove rows that remember visitors of old intervals; counts stay", Long: retireHelp, Run: retire,
			Flags: func(f *flag.FlagSet) {
				f.Func("before", "retire intervals that are over by the first of this `MONTH`, as YYYY-MM", line.setBefore)
				wait(f)
				f.BoolVar(&line.force, "force", false, "remove rows even if a count is lower than the number of visitors with rows")
			}, Check: line.completeRetire},
		{Name: "grow", Args: "--topic TOPIC --partitions N [--wait 30m]", Short: "give a topic another number of partitions, while events come in", Long: growHelp, Run: grow,
			Flags: func(f *flag.FlagSet) {
				f.StringVar(&line.topic, "topic", "", "the `TOPIC`: clicks or visits, as kafka.topics has them")
				f.Func("partitions", "the new `NUMBER` of partitions, more or fewer than now", positive(&line.partitions, strconv.Atoi, "a number of at least 1"))
				wait(f)
			}, Check: line.completeGrow},
		{Name: "forget", Args: "[--guid GUID]... [--ip IP]...", Short: "remove the rows that remember these visitors; counts stay", Long: forgetHelp, Run: forget,
			Flags: func(f *flag.FlagSet) {
				f.Func("guid", "`GUID` of a visitor of sites; may be repeated", each(&line.guids))
				f.Func("ip", "`IP` of a visitor of links, or its hash; may be repeated", line.addIP)
			}, Check: line.completeForget},
		{Name: "rebuild", Args: rebuildArgs, Short: "count once more into a second set of tables, and compare", Long: rebuildHelp, Run: rebuildTables,
			Flags: func(f *flag.FlagSet) {
				f.StringVar(&line.suffix, "keyspace-suffix", "", "`SUFFIX` of the second set of keyspaces")
				f.StringVar(&line.to, "to", "", "a configuration `FILE` with the settings of another Cassandra, for the second set")
				f.StringVar(&line.visits, "from-file", "", "a `FILE` of visits to count instead of the topics")
				f.StringVar(&line.site, "site", "", "the `SITE` of all visits in that file")
				f.BoolVar(&line.compare, "compare", true, "with =false: do not compare the file's sites with the tables in use")
			}, Check: line.completeRebuild},
		{Name: "pause", Args: "[--wait 3m] [--for 10m] [-- COMMAND ARGS...]", Short: "hold counting while a snapshot is taken, and tell whether it is whole", Long: pauseHelp, Run: pauseCounting, Rest: true,
			Flags: func(f *flag.FlagSet) {
				f.Func("wait", "wait for consumers and commands up to this `TIME`; 3m if not given", duration(&line.patience))
				f.Func("for", "give COMMAND this `TIME` at the most; 10m if not given", duration(&line.limit))
			}},
		{Name: "accept-gap", Args: "[--at-most N]", Short: "list events that are missing, or let consumers go on without them", Long: acceptGapHelp, Run: acceptGap,
			Flags: func(f *flag.FlagSet) {
				f.Func("at-most", "accept the gap if no more than this `NUMBER` of events are missing", positive(&line.atMost, strconv.Atoi, "a number of events"))
			}},
		{Name: "replay", Args: replayArgs, Short: "list dead letters, mend them by rules, and send each again once", Long: replayHelp, Run: replayLetters, Flags: line.replayFlags},
		{Name: "doctor", Args: "[--producer URL] [--key-file FILE] [--json] [--metric FILE]", Short: "examine Kafka, Cassandra, consumers and the way of an event to its count; exit 0 or 1", Long: doctorHelp, Run: examine,
			Flags: func(f *flag.FlagSet) {
				f.Func("producer", "the `URL` of a producer, for the canary; "+defaultProducer+" if not given; empty: no canary", line.setProducer)
				f.StringVar(&line.keyFile, "key-file", "", "a `FILE` with the write key of the canary")
				f.BoolVar(&line.json, "json", false, "print the findings as JSON, in one line")
				f.StringVar(&line.metric, "metric", "", "write the findings as metrics to this `FILE`, for node_exporter; -: print them instead")
			}},
	}
}

func (line *commandLine) setBefore(text string) (err error) {
	line.before, err = month(text, time.Now())
	return err
}

// duration sets a time that a flag has as its value.
func duration(to *time.Duration) func(string) error {
	return positive(to, time.ParseDuration, "a time such as 30m or 2h")
}

// positive sets what a flag has as its value, if it is above 0.
func positive[T int | time.Duration](to *T, parse func(string) (T, error), want string) func(string) error {
	return func(text string) (err error) {
		if *to, err = parse(text); err != nil || *to <= 0 {
			return fmt.Errorf("%q: want %s", text, want)
		}
		return nil
	}
}

// each collects the values of a flag that may be repeated.
func each(to *[]string) func(string) error {
	return func(text string) error { *to = append(*to, text); return nil }
}

func (line *commandLine) addIP(text string) error {
	ip, err := address(text)
	line.ips = append(line.ips, ip)
	return err
}

func (line *commandLine) completeRetire() error {
	if line.before == 0 {
		return errors.New("retire needs --before YYYY-MM")
	}
	return nil
}

func (line *commandLine) completeGrow() error {
	if line.topic == "" || line.partitions == 0 {
		return errors.New("grow needs --topic and --partitions")
	}
	return nil
}

func (line *commandLine) completeForget() error {
	switch {
	case len(line.guids)+len(line.ips) == 0:
		return errors.New("forget needs --guid or --ip; both may be repeated")
	case slices.Contains(line.guids, ""):
		return errors.New("--guid is empty")
	}
	return nil
}

func (line *commandLine) completeRebuild() error {
	switch {
	case !newSuffix.MatchString(line.suffix):
		return fmt.Errorf("rebuild needs --keyspace-suffix: 1 to 30 of a-z, 0-9 and _, not %q", line.suffix)
	case line.visits == "" && (line.site != "" || !line.compare):
		return errors.New("--site and --compare belong to --from-file")
	}
	return nil
}

const migrateHelp = `Brings the schema of the keyspaces up to date. New keyspaces are made for the configured features and
metrics, which cannot be changed later. Safe to run twice, and by several processes at once.

If Cassandra does not answer, it fails at once. With --wait it tries again for so long, and logs every ten
seconds what it waits for: that is for jobs which start together with Cassandra.
`

const acknowledgeHelp = `Records another replication of the keyspaces, so that consumers count again. First stop all consumers,
ALTER KEYSPACE, and run nodetool repair --full on every node.
`

func migrate(ctx context.Context, t *task) error {
	apply := func(ctx context.Context) error { return migrations.Apply(ctx, t.cfg.Cassandra, t.plan, t.report) }
	if t.patience == 0 {
		return apply(ctx)
	}
	waiting := await.New(t.log)
	waiting.Limit = t.patience
	return waiting.For(ctx, "Cassandra", apply)
}

func acknowledge(ctx context.Context, t *task) error {
	return cassandra.AcknowledgeReplication(ctx, t.cfg.Cassandra, t.report)
}

func healthz(ctx context.Context, t *task) error {
	return health.Ask(ctx, "http.addr", t.cfg.HTTP.Addr)
}
