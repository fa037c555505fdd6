package main

import (
	"context"
	"log/slog"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/maintenance"
	"footfall/consumer/pause"
	"footfall/models"
)

const acceptGapHelp = `Lists the events that are not counted and that consumers refuse to skip: events that Kafka deleted
before they were counted, alone or with a sealed topic, and events that the group's offset was moved
past. It also lists events of which nobody can tell any more whether they were counted once. All
consumers of the group must be stopped.

Without --at-most it changes nothing. With --at-most, if there are no more than N such events, it
records that they stay as they are; consumers started afterwards go on after them. This cannot be
undone: accepted events are taken for counted.

If Kafka still has the events, they can be counted instead: set the group's offset back
(kafka-consumer-groups.sh --reset-offsets … --execute). Nothing is counted twice.
`

func acceptGap(ctx context.Context, cfg configs.Consumer, plan *models.Plan, log *slog.Logger, line commandLine, report func(string, ...any)) error {
	store, err := cassandra.Open(ctx, cfg.Cassandra, plan)
	if err != nil {
		return err
	}
	defer store.Close()
	return pause.Work(ctx, store, "consumer accept-gap", func(ctx context.Context) error {
		return maintenance.RunAcceptGap(ctx, cfg, store, line.atMost, log, report)
	})
}
