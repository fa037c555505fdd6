package main

import (
	"context"
	"fmt"
	"log/slog"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/rollup"
	"footfall/models"
)

const growHelp = `Usage: consumer grow --topic TOPIC --partitions N [--wait 30m]

Lets a topic, one of kafka.topics as configured (clicks or visits), go on with another number of
partitions, more or fewer, while events come in. Nothing is lost and nothing counted twice; doors and
consumers need no restart.

It creates the topic's next generation (visits, visits-g2, visits-g3, ...) like the one in use, seals
that one, so that Kafka refuses what is still sent to it, and waits until consumers have counted
it to its end, which they do before they count anything of the next. Doors that are refused go on
with the next generation. Others who write to the topic get MESSAGE_TOO_LARGE
(RecordTooLargeException) from then on, and have to write to the next generation.

A topic that was given more partitions by hand is grown in the same way: what was placed by their
number is written to the next generation, where it is counted.

Run it again if it was interrupted, or if messages lie beyond a seal: it goes on. It exits 0 when the
old generation is counted, and says until when to keep it.
`

func grow(ctx context.Context, cfg configs.Consumer, plan *models.Plan, log *slog.Logger, line commandLine, report func(string, ...any)) error {
	if t := cfg.Kafka.Topics; line.topic != t.Clicks && line.topic != t.Visits {
		return fmt.Errorf("--topic %s: want %s or %s, as kafka.topics has them; %w", line.topic, t.Clicks, t.Visits, errUsage)
	}
	store, err := cassandra.Open(ctx, cfg.Cassandra, plan)
	if err != nil {
		return err
	}
	defer store.Close()
	return rollup.RunGrow(ctx, cfg, store, line.topic, line.partitions, line.wait, log, report)
}
