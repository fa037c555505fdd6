package rollup

import (
	"context"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// checkLogIdentity refuses a log that has other messages than those that were counted: Kafka has lost what it acknowledged, as after an
// unclean leader election, or the topic was recreated. It compares the last messages that the store and the group's mark know with the
// log, if the log still has them.
func (o *ownership) checkLogIdentity(ctx context.Context, bounds map[models.Partition]eventlog.Span) error {
	for _, err := range o.each(func(p models.Partition, own *owned) (err error) {
		if own.kept, err = o.store.Tail(ctx, p); err != nil {
			return err
		}
		for _, known := range []store.Tail{own.kept, {Offset: own.committed, Sum: own.said.Tail}} {
			if known.Sum == "" || known == own.tail {
				continue
			}
			if known.Offset == own.next {
				own.tail = known
			}
			if known.Offset <= bounds[p].From || known.Offset > bounds[p].To {
				continue
			}
			switch found, err := o.sumAt(ctx, p, known.Offset-1); {
			case err != nil:
				return err
			case found != "" && found != known.Sum:
				return eventlog.AnotherLog(p, known.Offset-1)
			}
		}
		return nil
	}) {
		return err // one is enough
	}
	return nil
}

// noteTail stores the fingerprint of the last counted message, for the next owner. If that fails, counting goes on.
func (o *ownership) noteTail(ctx context.Context, partition models.Partition, p *owned) {
	if p.tail.Sum == "" || p.tail.Offset <= p.kept.Offset {
		return
	}
	if err := o.store.NoteTail(ctx, partition, p.tail); err != nil {
		o.log.Warn("noting the last counted message failed", "topic", partition.Topic, "partition", partition.Number, "error", err)
		return
	}
	p.kept = p.tail
}
