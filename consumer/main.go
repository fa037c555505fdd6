// Command consumer counts the events of the Kafka topics into Cassandra. Run as many as you like: they share the
// partitions.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"footfall/configs"
	"footfall/consumer/gcpacer"
	"footfall/consumer/maintenance"
	"footfall/consumer/rollup"
	"footfall/internal/cli"
	"footfall/internal/memlimit"
	"footfall/models"
)

// errUsage marks a mistake in the command line.
var errUsage = cli.Usage("consumer")

func main() {
	memlimit.Apply()
	gcpacer.Relax()
	os.Exit(cli.Main("consumer", command))
}

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	run, line, told, err := parse(args, stdout)
	if told || err != nil {
		return err
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
	t := &task{commandLine: line, cfg: cfg, plan: plan, log: log, report: reportTo(stdout)}
	defer t.close()
	return run(ctx, t)
}

// reportTo writes lines to w. It escapes control characters: links and sites are named as anybody sent them.
func reportTo(w io.Writer) maintenance.Reporter {
	var one sync.Mutex
	return func(format string, args ...any) {
		one.Lock()
		defer one.Unlock()
		fmt.Fprintln(w, models.Visible(fmt.Sprintf(format, args...)))
	}
}
