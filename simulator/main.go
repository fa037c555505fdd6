// Command simulator makes up visits of a site and writes them to files, both raw and as the tables that footfall would count them into.
// It can send them to a running footfall and compare, row by row, what that counted.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"footfall/internal/cli"
	"footfall/simulator/mock"
)

// errUsage marks a mistake in the command line.
var errUsage = cli.Usage("simulator")

func main() {
	os.Exit(cli.Main("simulator", func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		return command(ctx, args, time.Now(), stdout, stderr)
	}))
}

// command runs one command line. Results go to stdout, progress to stderr.
func command(ctx context.Context, args []string, now time.Time, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "demo" {
		return demo(ctx, args[1:], stdout, stderr)
	}
	o, err := parse(args)
	switch {
	case err != nil:
		return fmt.Errorf("%w; %w", err, errUsage)
	case o.help:
		_, err := io.WriteString(stdout, usage)
		return err
	case o.version:
		_, err := fmt.Fprintln(stdout, cli.Version("simulator"))
		return err
	}
	if o.send != "" && o.plan.To.After(now) {
		return fmt.Errorf("--to %s is in the future: the producer refuses such events; %w", o.plan.To.Format(time.DateOnly), errUsage)
	}
	if o.out == ownDir {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return fmt.Errorf("making a directory for the results: %w", err)
		}
	} else if info, err := os.Stat(o.out); err != nil || !info.IsDir() {
		return fmt.Errorf("--out %q is no directory; %w", o.out, errUsage)
	}
	fmt.Fprintf(stderr, "seed %d\n", o.plan.Seed)
	visits, clicks := mock.MakeVisits(o.plan), mock.MakeClicks(o.plan)
	var counted *comparison
	if o.verify {
		if counted, err = newComparison(o, visits, clicks); err != nil {
			return err
		}
		defer counted.close()
		if o.send != "" {
			if err := counted.refuseOthers(ctx); err != nil {
				return err
			}
		}
	}
	names, err := writeFiles(o, now, visits, clicks)
	if err != nil {
		return err
	}
	if o.send != "" {
		if err := send(ctx, o, visits, clicks, stderr); err != nil {
			return err
		}
	}
	if o.verify {
		if err := counted.await(ctx, o, visits, clicks, stderr); err != nil {
			return err
		}
	}
	last := len(names) - 1
	_, err = fmt.Fprintf(stdout, "Simulation complete. Check %s and %s for results.\n", strings.Join(names[:last], ", "), names[last])
	return err
}
