// Command bench measures footfall beside others that bring events from Kafka into Cassandra, all in one run, so that noise
// hits all sides alike. It wants the stack of `make up`, uses topics and keyspaces of its own and removes them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"footfall/internal/cli"
	"footfall/test/bench/live"
	"footfall/test/bench/machine"
	"footfall/test/bench/subject"
	"footfall/test/bench/workload"
	"footfall/test/e2e/process"
)

func main() {
	os.Exit(cli.Main("bench", func(ctx context.Context, args []string, _, _ io.Writer) error {
		if len(args) == 2 && args[0] == "child" {
			return child(ctx, args[1])
		}
		return command(ctx)
	}))
}

// bench is one run.
type bench struct {
	task // where the servers are
	subject.Version
	name    string
	session *gocql.Session
	n       int // of keyspace suffixes given out

	events  int
	seconds int    // that a rival may take
	sync    string // commitlog_sync of a node of its own; empty: the stack of `make up`
	before  string // commit or directory of an older footfall, to be measured beside this one
	server  int    // Cassandra's process id, 0 if unknown
	only    map[string]bool
	warm    bool // Cassandra
	live    *live.Options
	report  *report

	recorded *running // has footfall's requests and gives Cassandra's limit
}

func command(ctx context.Context) (err error) {
	b := &bench{only: map[string]bool{}, name: fmt.Sprintf("bench%x", time.Now().UnixMilli()&0xffffffff)}
	only := flag.String("only", "", "comma-separated parts, such as clicks,visits,cold,viral,producer,freshness,growth; all but singles,live,livebatches,liveclicks if empty: the live ones take 15 minutes each")
	sides := flag.String("sides", "", "comma-separated sides, such as usual,sink,footfall; all but again if empty")
	state := flag.String("state", "", "file that keeps what was measured, for a run in parts")
	out := flag.String("o", "", "also write the report to this file")
	flag.StringVar(&b.Broker, "kafka", "127.0.0.1:9092", "Kafka")
	flag.StringVar(&b.Host, "cassandra", "127.0.0.1", "Cassandra")
	flag.IntVar(&b.Port, "port", 9042, "of Cassandra")
	flag.BoolVar(&workload.Months, "months", false, "footfall keeps clicks by month as well, which the others do not: what they cost")
	flag.IntVar(&b.events, "events", 300_000, "of each workload")
	flag.IntVar(&b.seconds, "seconds", 60, "that a slow rival may take")
	flag.StringVar(&b.sync, "sync", "", "measure consumers on a Cassandra of its own with this commitlog_sync: periodic, Cassandra's default")
	b.live = live.Flags(flag.CommandLine)
	flag.StringVar(&b.before, "before", "", "measure the footfall of this commit, or of the sources in this directory, beside this one, and nothing else")
	flag.Parse()
	if b.sync != "" && b.sync != "periodic" {
		return fmt.Errorf("-sync %s: periodic is the one to compare with; make up has group", b.sync)
	}
	if b.sync != "" && *only+*sides == "" {
		*only, *sides = "clicks,visits,cold", "usual,sink,spark,footfall,replay"
	}
	for _, name := range strings.Split(*only+","+*sides, ",") {
		if name != "" && !slices.Contains(parts, name) && !slices.Contains(sideNames(), name) {
			return fmt.Errorf("there is no %q: parts are %s; sides are %s", name, strings.Join(parts, ", "), strings.Join(sideNames(), ", "))
		}
		b.only[name] = name != ""
	}
	if b.Dir, err = os.MkdirTemp("", "footfall-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.Dir)) }()
	b.Bin = filepath.Join(b.Dir, "now")
	if err := process.Build(ctx, b.Bin, "consumer", "producer"); err != nil {
		return err
	}
	if b.wantsSpark() {
		if err := buildSpark(ctx); err != nil {
			return err
		}
	}
	if b.sync != "" {
		stop, err := b.startCassandra(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	b.server = machine.Listener(b.Port)
	if b.session, err = connect(b.task); err != nil {
		return fmt.Errorf("connecting to Cassandra (make up starts it): %w", err)
	}
	defer b.session.Close()
	b.report = newReport(ctx, b)
	if *state != "" {
		if err := b.report.load(*state); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.report.save(*state)) }()
	}
	begun := time.Now()
	if b.before != "" {
		err = b.besideOld(ctx, b.before)
	} else {
		err = b.all(ctx)
	}
	b.report.Took += time.Since(begun)
	b.report.write(os.Stdout) // what was measured is worth having, whatever came then
	if err != nil {
		return err
	}
	if *out == "" {
		return nil
	}
	file, err := os.Create(filepath.Clean(*out))
	if err != nil {
		return err
	}
	b.report.write(file)
	return file.Close()
}

var parts = []string{"clicks", "visits", "cold", "viral", "crash", "producer", "freshness", "growth", "singles", "live", "livebatches", "liveclicks"}

func (b *bench) all(ctx context.Context) error {
	for _, w := range workload.All {
		if !b.wants(w.Name, parts...) {
			continue
		}
		err := b.withTopic(ctx, w, b.events, func(t task) error {
			t.Prefix = max(1, t.Events/w.Shorter())
			t.Uniques, t.PrefixUniques = w.Uniques(t.Events, t.Prefix)
			return b.compare(ctx, w, t)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	b.report.judge()
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{{"crash", b.measureCrash}, {"producer", b.measureProducer}, {"freshness", b.measureFreshness}, {"growth", b.measureGrowth}} {
		if b.wants(part.name, parts...) {
			if err := part.measure(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	return b.measureLive(ctx, b)
}

// measureLive measures those kinds of live traffic that are asked for by name, in turns on several footfalls.
func (b *bench) measureLive(ctx context.Context, all ...*bench) error {
	servers := live.Servers{Session: b.session, Cassandra: b.server, Kafka: machine.ListenerAt(b.Broker)}
	if b.only["singles"] {
		if err := b.measureSingles(ctx, servers, all); err != nil {
			return fmt.Errorf("singles: %w", err)
		}
	}
	for _, form := range live.Forms {
		if !b.only[form.Name] {
			continue
		}
		text, err := live.Run(ctx, b.live, form, servers, b.sides(form.Name, all)...)
		if err != nil {
			return fmt.Errorf("%s: %w", form.Name, err)
		}
		b.report.section(form.Title, text)
	}
	return nil
}

// sides are footfalls with a topic and tables of their own.
func (b *bench) sides(part string, all []*bench) (sides []live.Side) {
	for i, one := range all {
		b.n++
		side := live.Side{Name: "footfall", Version: one.Version, Place: b.Place}
		if len(all) > 1 {
			side.Name = []string{"old", "new"}[i]
		}
		side.Topic, side.Suffix = fmt.Sprintf("%s-%s-%d", b.name, part, b.n), fmt.Sprintf("_%s_%d", b.name, b.n)
		sides = append(sides, side)
	}
	return sides
}

// measureSingles measures single events that come slower than a producer can take them.
func (b *bench) measureSingles(ctx context.Context, servers live.Servers, all []*bench) error {
	bare, address, err := b.startBare(ctx)
	if err != nil {
		return err
	}
	defer bare.Kill()
	text, cost, p99, err := live.Singles(ctx, servers, live.Door{Process: bare, Address: address}, b.sides("singles", all)...)
	if err != nil {
		return err
	}
	b.report.section("Single events at a moderate rate", text)
	b.report.reach(fmt.Sprintf("producer and Kafka at %d single events/s, µs of processor time an event", live.SinglesRate), fmt.Sprintf("≤ %.0f", live.SinglesCost), cost, cost <= live.SinglesCost)
	b.report.reach("the same, answered, p99 in seconds", fmt.Sprintf("≤ %.2f", live.SinglesP99.Seconds()), p99.Seconds(), p99 <= live.SinglesP99)
	return nil
}

// wants tells whether a part is asked for: by name, or because none of its kind is.
func (b *bench) wants(name string, kind ...string) bool {
	for _, k := range kind {
		if b.only[k] {
			return b.only[name]
		}
	}
	return true
}
