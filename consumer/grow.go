package main

import (
	"context"

	"footfall/consumer/maintenance"
)

const growHelp = `Gives a topic another number of partitions, more or fewer, while events come in. TOPIC is clicks or
visits, as kafka.topics has them. Nothing is lost and nothing is counted twice. Producers and
consumers need no restart; consumers have to run.

It creates the topic's next generation (visits, visits-g2, visits-g3, ...) like the one in use. It
seals the old one: Kafka refuses what is still sent to it, and producers that are refused go on with
the next generation. Then it waits, as long as --wait says, until consumers have counted the old one
to its end. They count nothing of the next one before.

Other programs that write to the topic get MESSAGE_TOO_LARGE (RecordTooLargeException) from the seal
on, and have to write to the next generation. kafka.topics stays as it is in all configurations.

If somebody has given the topic more partitions by hand, grow it in the same way: messages that were
placed by the new number are written to the next generation, and counted there.

It exits 0 when the old generation is counted, and says until when to keep that topic. If it was
interrupted, or if messages lie beyond a seal (footfall_beyond_seal_events), run it again.
`

func grow(ctx context.Context, t *task) error {
	if err := t.counts(t.topic, t.topic); err != nil {
		return err
	}
	return t.write(ctx, func(ctx context.Context) error {
		return maintenance.RunGrow(ctx, t.cfg, t.store, t.topic, t.partitions, t.wait, t.log, t.report)
	})
}
