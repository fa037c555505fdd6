package rollup

import (
	"context"
	"strconv"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// lagInterval is how often Kafka is asked for the log's end.
const lagInterval = time.Second

// watchLag updates the lag of every partition and notes it for readers of counts, until ctx ends, also while nothing can be counted.
func (o *ownership) watchLag(ctx context.Context) {
	var notes progressNotes
	for {
		if rows, err := o.lag(ctx); err == nil {
			notes.write(ctx, o, rows)
		}
		if retry.Sleep(ctx, lagInterval) != nil {
			return
		}
	}
}

// lag looks how far each partition is. The moment is taken first, and what is counted is read last: if that is the log's end, everything
// that was written before the moment is counted.
func (o *ownership) lag(ctx context.Context) ([]store.Progress, error) {
	at, partitions := time.Now(), o.sorted()
	bounds, err := o.bounds(ctx, partitions)
	if err != nil {
		return nil, err
	}
	rows := make([]store.Progress, len(partitions))
	for i, p := range partitions {
		own, to := o.partitions[p], bounds[p].To
		if own.sealed {
			o.metrics.beyond(p, o.beyondSeal(ctx, p, to))
			to = min(to, own.end)
		}
		rows[i] = store.Progress{Partition: p, EventTime: own.lastTime(), Counted: own.counted.Load(), At: at}
		rows[i].LogEnd = max(to, rows[i].Counted)
		o.metrics.lagging(p, to-rows[i].Counted)
	}
	return rows, nil
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
