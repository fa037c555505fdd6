// Command stackctl brings real Kafka and real Cassandra up on this machine and
// takes them down again: with docker compose where an engine answers, else the
// same versions from their Maven jars.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const usage = `Usage: go run ./deployments/stackctl <command> [flags]

Commands:
  up      start Kafka on 127.0.0.1:9092 and Cassandra on 127.0.0.1:9042, keep their data, create the
          topics and run the migrations. What is up already is left alone.
  down    stop what up started; the data stays.
  status  say what runs and what answers; exit 1 unless both answer.

Flags:
`

func main() { os.Exit(run()) }

// run parses the command line and returns the exit code: 0 done, 1 failed, 2
// wrong usage.
func run() int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		return 2
	}
	fmt.Fprintln(os.Stderr, "stackctl:", err)
	return 1
}

// usageError marks a command line that was explained to the user already.
type usageError struct{ error }

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := control{say: newSayer(stdout), ci: os.Getenv("CI") == "true"}
	flags := flag.NewFlagSet("stackctl", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.dir, "dir", ".stack", "where jars, data, logs and pids are kept, relative to the repository")
	flags.BoolVar(&c.optional, "optional", false,
		"up: where the stack cannot be had say so in one line and succeed (unless CI=true)")
	flags.BoolVar(&c.bare, "bare", false, "up: create no topics and run no migrations")
	flags.BoolVar(&c.jars, "jars", false, "up: use the Maven jars even where a container engine answers")
	flags.BoolVar(&c.wipe, "wipe", false, "down: remove the data as well (the jars stay)")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	name := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
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
	commands := map[string]func(context.Context) error{"up": c.up, "down": c.down, "status": c.status}
	do, ok := commands[name]
	if !ok || flags.NArg() > 0 {
		flags.Usage()
		return usageError{fmt.Errorf("unknown command %q", name)}
	}
	return do(ctx)
}
