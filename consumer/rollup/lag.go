package rollup

import (
	"context"
	"strconv"
	"time"

	"footfall/consumer/eventlog"
	"footfall/internal/retry"
	"footfall/models"
)

// lagInterval is how often Kafka is asked for the log's end.
const lagInterval = 2 * time.Second

// watchLag updates the lag of every partition until ctx ends, also while nothing can be counted.
func (o *ownership) watchLag(ctx context.Context) {
	partitions := o.sorted()
	for {
		if bounds, err := o.bounds(ctx, partitions); err == nil {
			for _, p := range partitions {
				to := bounds[p].To
				if own := o.partitions[p]; own.sealed {
					o.metrics.beyond(p, o.beyondSeal(ctx, p, to))
					to = min(to, own.end)
				}
				o.metrics.lagging(p, to-o.partitions[p].counted.Load())
			}
		}
		if retry.Sleep(ctx, lagInterval) != nil {
			return
		}
	}
}

// beyondSeal is how many messages between a partition's seal and to were not carried over to the next generation.
func (o *ownership) beyondSeal(ctx context.Context, p models.Partition, to int64) int64 {
	from := o.partitions[p].end
	for from < to {
		recorded, err := o.store.Setting(ctx, eventlog.FactCarried(p.Topic, p.Number, from), "")
		next, notNumber := strconv.ParseInt(recorded, 10, 64)
		if err != nil || notNumber != nil {
			break
		}
		from = next
	}
	if from < to {
		o.log.Error("events were written to a sealed topic and are not counted: run consumer grow again, which carries them over",
			"topic", p.Topic, "partition", p.Number, "from", from, "to", to)
	}
	return max(0, to-from)
}
