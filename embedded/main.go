// Command embedded is footfall in one process: the door, a broker, a consumer and a store, with the data in a directory.
// It needs nothing but itself. The core knows nothing of it: delete this folder and the rest still builds.
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
	"runtime/debug"
	"syscall"

	"footfall/configs"
)

const usage = `Usage: embedded [COMMAND]

Runs all of footfall in one process: the door, a Kafka broker, a consumer and SQLite.

Commands:
  (none)        count until SIGTERM or SIGINT; the next start goes on from there
  query "SQL"   ask for counts, also while footfall runs; reads only

Every key of configs/embedded.yaml can be set in the environment: http.addr as FOOTFALL_HTTP_ADDR,
data.dir as FOOTFALL_DATA_DIR. So can those of producer.yaml and consumer.yaml, but for the addresses.
`

// errUsage marks a mistake in the command line.
var errUsage = errors.New("see embedded --help")

// garbage is how much there may be in memory, in percent of what is in use. A full log of single events and the ids in it take 200 MB:
// as much again, which is Go's own rule, is too much for one process among many on a laptop.
const garbage = 40

func main() { os.Exit(run()) }

// run is main with an exit code: 0 done, 1 failed, 2 a mistake in the command line or the configuration.
func run() int {
	keepPrivate()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "embedded:", err)
	if wrong := (*configs.Wrong)(nil); errors.Is(err, errUsage) || errors.As(err, &wrong) {
		return 2
	}
	return 1
}

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("embedded", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed once, by run
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(stdout, usage)
		return err
	} else if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	cfg, err := configs.LoadEmbedded("")
	if err != nil {
		return err
	}
	switch {
	case flags.NArg() == 0:
		log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
		return serve(ctx, cfg, log, func(addr, admin string) { greet(stdout, addr, admin, cfg) })
	case flags.Arg(0) == "query" && flags.NArg() == 2:
		return query(ctx, cfg.Data.Dir, flags.Arg(1), stdout)
	case flags.Arg(0) == "query":
		return fmt.Errorf("query wants one argument, the SQL in quotes; %w", errUsage)
	}
	return fmt.Errorf("unknown argument %q; %w", flags.Arg(0), errUsage)
}
