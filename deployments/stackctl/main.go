// Command stackctl starts and stops real Kafka and real Cassandra on this machine: with docker compose if a container engine answers, else the
// same versions from their Maven jars.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"footfall/internal/cli"
)

const usage = `Usage: go run ./deployments/stackctl <command> [flags]

Commands:
  up      start Kafka on 127.0.0.1:9092 and Cassandra on 127.0.0.1:9042 with the data they had, create
          the topics and run the migrations. Servers that are up already are left alone.
  down    stop what up started; the data stays.
  status  print which servers run and answer; exit 1 unless both answer.

Flags:
`

func main() {
	os.Exit(cli.Main("stackctl", func(ctx context.Context, args []string, stdout, _ io.Writer) error { return command(ctx, args, stdout) }))
}

// errUsage marks a mistake in the command line.
var errUsage = cli.Usage("stackctl")

func command(ctx context.Context, args []string, stdout io.Writer) error {
	c := control{say: newSayer(stdout), ci: os.Getenv("CI") == "true"}
	flags := flag.NewFlagSet("stackctl", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // cli.Main prints errors, once
	flags.StringVar(&c.dir, "dir", ".stack", "where jars, data, logs and pids are kept, relative to the repository")
	flags.BoolVar(&c.optional, "optional", false,
		"up: if this machine cannot run the stack, say so in one line and succeed (unless CI=true)")
	flags.BoolVar(&c.bare, "bare", false, "up: create no topics and run no migrations")
	flags.BoolVar(&c.jars, "jars", false, "up: use the Maven jars even if a container engine answers")
	flags.BoolVar(&c.wipe, "wipe", false, "down: remove the data as well (the jars stay)")
	version := flags.Bool("version", false, "print which build this is")
	name := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			flags.SetOutput(stdout)
			flags.PrintDefaults()
			return nil
		}
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if *version {
		_, err := fmt.Fprintln(stdout, cli.Version("stackctl"))
		return err
	}
	commands := map[string]func(*control, context.Context) error{"up": (*control).up, "down": (*control).down, "status": (*control).status}
	do, ok := commands[name]
	switch {
	case !ok:
		return fmt.Errorf("%q is no command: want up, down or status; %w", name, errUsage)
	case flags.NArg() > 0:
		return fmt.Errorf("unknown argument %q; %w", flags.Arg(0), errUsage)
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	c.root = root
	if !filepath.IsAbs(c.dir) {
		c.dir = filepath.Join(root, c.dir)
	}
	c.servers = newServers(c.dir, c.say)
	return do(&c, ctx)
}
