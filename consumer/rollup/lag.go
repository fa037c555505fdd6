package rollup

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/meter"
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
		if rows := o.lag(ctx); len(rows) > 0 {
			notes.write(ctx, o, rows)
			o.askTimes(ctx)
		}
		if retry.Sleep(ctx, lagInterval) != nil {
			return
		}
	}
}

// lag looks how far each partition is, of those whose leader answers. The moment is taken first, and what is counted is read last: if that is
// the log's end, everything that was written before the moment is counted.
func (o *ownership) lag(ctx context.Context) []store.Progress {
	at := time.Now()
	bounds := o.boundsOf(ctx, o.sorted())
	var rows []store.Progress
	for _, p := range o.sorted() {
		log, known := bounds[p]
		if !known {
			continue
		}
		own, to, beyond := o.partitions[p], log.To, int64(0)
		if own.sealed {
			beyond = o.beyondSeal(ctx, p, to)
			to = min(to, own.end)
		}
		o.metrics.Beyond(p, beyond)
		row := store.Progress{Partition: p, EventTime: own.lastTime(), Counted: own.counted.Load(), At: at}
		row.LogEnd = max(to, row.Counted)
		rows = append(rows, row)
		o.metrics.Lagging(p, to-row.Counted)
		own.waiting.Looked(to, at)
	}
	return rows
}

// boundsOf asks Kafka for the bounds of partitions. One without a leader makes the request for all of them fail, so then each is asked for alone.
func (o *ownership) boundsOf(ctx context.Context, partitions []models.Partition) map[models.Partition]eventlog.Span {
	bounds, err := o.bounds(ctx, partitions)
	if err == nil {
		return bounds
	}
	alone := make([]map[models.Partition]eventlog.Span, len(partitions))
	var asking sync.WaitGroup
	for i, p := range partitions {
		asking.Go(func() { alone[i], _ = o.bounds(ctx, []models.Partition{p}) }) // nothing is said of one that fails
	}
	asking.Wait()
	bounds = map[models.Partition]eventlog.Span{}
	for _, one := range alone {
		maps.Copy(bounds, one)
	}
	return bounds
}

// askTimes asks Kafka when events were written that wait and that nobody has read, and the last that were counted before this process
// took their partitions.
func (o *ownership) askTimes(ctx context.Context) {
	o.each(func(p models.Partition, own *owned) error {
		next, before := own.waiting.Asks()
		for _, asked := range []int64{next, before} {
			if asked < 0 {
				continue
			}
			if offset, at, err := o.timeFrom(ctx, p, asked); err == nil { // else next time
				own.waiting.Found(asked, offset, at)
			}
		}
		return nil
	})
}

// waiting has what knows how long events of each partition wait.
func (o *ownership) waiting() map[models.Partition]*meter.Waiting {
	out := make(map[models.Partition]*meter.Waiting, len(o.partitions))
	for p, own := range o.partitions {
		out[p] = &own.waiting
	}
	return out
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
