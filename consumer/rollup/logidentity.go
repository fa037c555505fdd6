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
			if known == own.lastTail() {
				continue
			}
			if known.Offset == own.next {
				own.tail.Store(&known)
			}
			if known.Offset <= bounds[p].From || known.Offset > bounds[p].To {
				continue
			}
			if err := o.compare(ctx, p, known); err != nil {
				return err
			}
		}
		return nil
	}) {
		return err // one is enough
	}
	return nil
}

// compare refuses a log with another message in the place of a known one.
func (o *ownership) compare(ctx context.Context, p models.Partition, known store.Tail) error {
	if known.Sum == "" {
		return nil
	}
	found, err := o.sumAt(ctx, p, known.Offset-1)
	if err == nil && found != "" && found != known.Sum {
		return eventlog.AnotherLog(p, known.Offset-1)
	}
	return err
}

// keepTail stores the fingerprint of the last counted message, for the next owner. Before that it compares the one of before with the log: the
// topic may have been deleted and made anew since. Other errors than a *Refusal are logged, and counting goes on.
func (o *ownership) keepTail(ctx context.Context, p models.Partition, own *owned) error {
	tail := own.lastTail()
	if tail.Sum == "" || tail.Offset <= own.kept.Offset {
		return nil
	}
	err := o.compare(ctx, p, own.kept)
	if eventlog.IsRefusal(err) {
		own.tail.Store(nil) // the next owner must not know it
		return err
	}
	if err == nil {
		err = o.store.NoteTail(ctx, p, tail)
	}
	if err == nil {
		own.kept = tail
	} else if ctx.Err() == nil {
		o.log.Warn("noting the last counted message failed", "topic", p.Topic, "partition", p.Number, "error", err)
	}
	return nil
}
