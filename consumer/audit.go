package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/rollup"
)

// audit checks all keys, and with repair mends what is off. It fails if something is wrong and was not repaired.
func audit(repair bool) func(context.Context, configs.Consumer, *slog.Logger) error {
	return func(ctx context.Context, cfg configs.Consumer, log *slog.Logger) error {
		store, err := cassandra.Open(ctx, cfg.Cassandra)
		if err != nil {
			return err
		}
		defer store.Close()
		started := time.Now()
		a, err := rollup.RunAudit(ctx, cfg, store, repair, log, func(line string) { fmt.Println(line) })
		fmt.Printf("%d keys read in %v: %d off, %d repaired, %d links whose sums differ, %d too busy to compare, %d stretches"+
			" no longer in the log\n", a.Keys, time.Since(started).Round(time.Millisecond), a.Off, a.Repaired, a.Unsums, a.Busy, a.Unreadable)
		if err != nil {
			return err
		}
		if !a.Clean() {
			if !repair {
				return errors.New("something is off: consumer audit --repair mends what the log still holds")
			}
			return errors.New("something is off and could not be repaired")
		}
		return nil
	}
}
