package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/maintenance"
	"footfall/consumer/pause"
	"footfall/models"
)

const auditHelp = `Checks in every key's ledger that each event is counted once, and compares links' totals with their
parts. Consumers may run meanwhile. Exits 1 if something is wrong and was not repaired.
`

// audit checks all keys, and with --repair repairs what is off. It fails if something is wrong and was not repaired.
func audit(ctx context.Context, cfg configs.Consumer, plan *models.Plan, log *slog.Logger, line commandLine, report func(string, ...any)) error {
	store, err := cassandra.Open(ctx, cfg.Cassandra, plan)
	if err != nil {
		return err
	}
	defer store.Close()
	started := time.Now()
	var a maintenance.Audit
	run := func(ctx context.Context) error {
		return guarded(ctx, func(ctx context.Context) (err error) {
			o := maintenance.AuditOptions{Repair: line.repair, Walk: "audit", Resume: line.resume}
			a, err = maintenance.RunAudit(ctx, cfg, store, o, log, func(line string) { report("%s", line) })
			return err
		}, store)
	}
	if line.repair {
		err = pause.Work(ctx, store, "consumer audit --repair", run)
	} else {
		err = run(ctx) // it writes nothing that a snapshot could tear
	}
	report("%d keys read in %v: %d off, %d repaired, %d links whose sums differ, %d too busy to compare,"+
		" %d stretches no longer in the log",
		a.Keys, time.Since(started).Round(time.Millisecond), a.Off, a.Repaired, a.MismatchedTotals, a.Busy, a.Unreadable)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w; consumer audit --resume goes on", err)
	case err != nil:
		return err
	case a.Clean():
		return nil
	case line.repair:
		return errors.New("something is off and could not be repaired")
	}
	return errors.New("something is off: consumer audit --repair repairs what the log still holds")
}
