// Command embedded is footfall in one process: the producer, a broker, a consumer, a store and the reader, with the data in a directory.
// It needs no servers. No other package imports it: without this folder the rest still builds.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"footfall/configs"
	"footfall/internal/cli"
	"footfall/internal/memlimit"
)

// action runs a command with the arguments that are no flags.
type action func(ctx context.Context, cfg configs.Embedded, args []string, stdout, stderr io.Writer) error

// program has the commands of this binary. The name of the file that configures it goes into file.
func program(file *string) *cli.Program[action] {
	return &cli.Program[action]{
		Name: "embedded", About: "Runs all of footfall in one process: the producer, a Kafka broker, a consumer, SQLite and the reader.",
		Flags: func(f *flag.FlagSet) { f.StringVar(file, "config", "", "a `FILE` with keys of configs/embedded.yaml") },
		Commands: []cli.Command[action]{
			{Short: "count until SIGTERM or SIGINT; the next start goes on from there", Run: countAndGreet},
			{Name: "query", Args: `"SQL"`, Operands: 1, Short: "ask for counts, also while footfall runs; reads only", Long: queryHelp, Run: ask},
		},
		More: `Every key of configs/embedded.yaml can be set in FILE or in the environment (FOOTFALL_DATA_DIR, ...). Those of
producer.yaml, consumer.yaml and reader.yaml can be set in the environment, except addresses.`,
	}
}

const queryHelp = `Asks for counts, also while footfall runs. It reads only. The SQL is one argument: put it in quotes. The
tables are named as in Cassandra, such as urlshortener.clickcounter.
`

// errUsage marks a mistake in the command line.
var errUsage = cli.Usage("embedded")

// garbage is GOGC: how much garbage there may be, in percent of the memory in use. A full log of single events and their ids take 200 MB;
// Go's default of 100 % would double that, which is too much on a laptop.
const garbage = 40

func main() {
	keepPrivate()
	memlimit.Apply()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	os.Exit(cli.Main("embedded", command))
}

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var file string
	c, operands, told, err := program(&file).Parse(args, stdout)
	if told || err != nil {
		return err
	}
	cfg, err := configs.LoadEmbedded(file)
	if err != nil {
		return err
	}
	return c.Run(ctx, cfg, operands, stdout, stderr)
}

func countAndGreet(ctx context.Context, cfg configs.Embedded, _ []string, stdout, stderr io.Writer) error {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	return serve(ctx, cfg, log, func(at addresses) { greet(stdout, os.Args[0], at, cfg) })
}

func ask(ctx context.Context, cfg configs.Embedded, sql []string, stdout, stderr io.Writer) error {
	for _, stack := range []string{"cassandra.hosts", "kafka.brokers"} {
		if variable := configs.Variable(stack); os.Getenv(variable) != "" {
			return fmt.Errorf("%s is set: the counts of that stack are in Cassandra, ask with cqlsh or a reader. Unset it for those in %s; %w", variable, cfg.Data.Dir, errUsage)
		}
	}
	return query(ctx, cfg.Data.Dir, sql[0], stdout, stderr)
}
