package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/maintenance"
	"footfall/consumer/pause"
	"footfall/models"
)

const catalogueHelp = `Fills links_by_day, sites_by_month and values_by_month with what was counted before these tables
were there. Run it once, after the last consumer of an earlier version has ended: such a consumer lists
nothing, and catalogue does not notice it. Consumers of this version may run meanwhile: they list by
themselves what they count. Names that are listed already stay. A run that has finished records that the
lists are whole (footfall.settings). Until then readers say that names may be missing.
`

// catalogue fills the lists from the tables of counters.
func catalogue(ctx context.Context, cfg configs.Consumer, plan *models.Plan, _ *slog.Logger, line commandLine, report func(string, ...any)) error {
	store, err := cassandra.Open(ctx, cfg.Cassandra, plan)
	if err != nil {
		return err
	}
	defer store.Close()
	started := time.Now()
	var done maintenance.Catalogued
	err = pause.Work(ctx, store, "consumer catalogue", func(ctx context.Context) error {
		return guarded(ctx, func(ctx context.Context) (err error) {
			c := maintenance.Catalogue{Store: store, Plan: plan, Parts: maintenance.WalkParts, AtOnce: maintenance.WalkAtOnce, Report: report}
			done, err = c.Run(ctx, line.resume)
			return err
		}, store)
	})
	report("%d keys read, %d names listed in %v", done.Keys, done.Names, time.Since(started).Round(time.Millisecond))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w; consumer catalogue --resume goes on", err)
	}
	return err
}
