package main

import (
	"context"

	"footfall/consumer/maintenance"
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

func acceptGap(ctx context.Context, t *task) error {
	return t.write(ctx, func(ctx context.Context) error {
		return maintenance.RunAcceptGap(ctx, t.cfg, t.store, int64(t.atMost), t.log, t.report)
	})
}
