package eventlog

import (
	"context"

	"footfall/internal/await"
	"footfall/internal/kafka/topics"
)

// AwaitDiscover is Discover for a process that starts: it waits until Kafka, the topics and the store are there.
func (l *Log) AwaitDiscover(ctx context.Context, w *await.Waiter) (src Sources, err error) {
	err = w.For(ctx, "Kafka, its topics and what the tables record of them", func(ctx context.Context) (err error) {
		if err := topics.Reach(ctx, l.Kafka); err != nil { // it says so at once; Discover tries for half a minute
			return err
		}
		src, err = l.Discover(ctx)
		return err
	})
	return src, err
}
