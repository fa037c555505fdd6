package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"footfall/consumer/maintenance"
	"footfall/consumer/pause"
)

const auditHelp = `Checks in every key's ledger that each event is counted once, and compares links' totals with their
parts. Consumers may run meanwhile. Exits 1 if something is wrong and was not repaired.
`

// audit checks all keys, and with --repair repairs what is off. It fails if something is wrong and was not repaired.
func audit(ctx context.Context, t *task) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	started := time.Now()
	var a maintenance.Audit
	run := func(ctx context.Context) error {
		return guarded(ctx, func(ctx context.Context) (err error) {
			o := maintenance.AuditOptions{Repair: t.repair, Walk: "audit", Resume: t.resume}
			a, err = maintenance.RunAudit(ctx, t.cfg, t.store, o, t.log, func(line string) { t.report("%s", line) })
			return err
		}, t.store)
	}
	var err error
	if t.repair {
		err = pause.Work(ctx, t.store, "consumer audit --repair", run)
	} else {
		err = run(ctx) // it writes nothing that a snapshot could tear
	}
	t.report("%d keys read in %v: %d off, %d repaired, %d links whose sums differ, %d too busy to compare,"+
		" %d stretches no longer in the log",
		a.Keys, time.Since(started).Round(time.Millisecond), a.Off, a.Repaired, a.MismatchedTotals, a.Busy, a.Unreadable)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w; consumer audit --resume goes on", err)
	case err != nil:
		return err
	case a.Clean():
		return nil
	case t.repair:
		return errors.New("something is off and could not be repaired")
	}
	return errors.New("something is off: consumer audit --repair repairs what the log still holds")
}
