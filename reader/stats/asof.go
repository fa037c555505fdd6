package stats

import (
	"context"
	"fmt"
	"time"

	"footfall/models"
)

// silentAfter is how old a note of progress may be while its consumer is said to count. One that is idle notes every five seconds.
const silentAfter = 15 * time.Second

// asOf reads how far the counts of a topic reach. It must be read before the counts.
func (r *Reader) asOf(ctx context.Context, topic string) (AsOf, error) {
	rows, err := r.store.Progress(ctx)
	if err != nil {
		return AsOf{}, fmt.Errorf("reading how far the counts reach: %w", err)
	}
	doubts, err := r.store.Doubts(ctx)
	if err != nil {
		return AsOf{}, fmt.Errorf("reading open doubts: %w", err)
	}
	as := reach(relevant(rows, topic), r.now())
	for of, n := range doubts {
		if base, _ := models.SplitGeneration(of); base == topic || of == topic {
			as.Doubts += n
		}
	}
	return as, nil
}

// relevant are the rows that tell how far a topic is counted: those of its newest generation. Nothing of it is counted before all of
// the generation before is, which may still be under way: until something is, what is left of earlier ones counts as well.
func relevant(rows []Progress, topic string) (out []Progress) {
	newest, begun := 0, false
	generation := func(p Progress) int {
		if p.Partition.Topic == topic {
			return 1
		}
		if base, n := models.SplitGeneration(p.Partition.Topic); base == topic {
			return n
		}
		return 0
	}
	for _, row := range rows {
		newest = max(newest, generation(row))
	}
	for _, row := range rows {
		begun = begun || generation(row) == newest && row.Counted > 0
	}
	for _, row := range rows {
		n := generation(row)
		if n > 0 && (n == newest || !begun && row.Counted < row.LogEnd) {
			out = append(out, row)
		}
	}
	return out
}

// reach puts together what the partitions' rows tell.
func reach(rows []Progress, now time.Time) AsOf {
	as := AsOf{Counting: len(rows) > 0}
	for i, row := range rows {
		upTo := row.At
		if row.Counted < row.LogEnd {
			upTo = row.EventTime
			as.Lag += row.LogEnd - row.Counted
		}
		if i == 0 || upTo.Before(as.Time) {
			as.Time = upTo // a zero one, where nothing was counted yet, is before all
		}
		as.Counting = as.Counting && now.Sub(row.At) < silentAfter
	}
	return as
}
