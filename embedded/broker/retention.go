package broker

import (
	"context"
	"fmt"
	"time"

	"footfall/models"
)

// Retention bounds the log. What is not counted, or in doubt, and ids that tell duplicates stay, whatever the bounds are, and so
// does the last segment of every partition: without it the partition would begin at offset 0 again.
type Retention struct {
	Bytes int64         // records of all partitions together; 0: no bound
	Age   time.Duration // since a segment was written last; 0: no bound

	// Ids are needed where both hold: they are in the last Window offsets before what is counted, and are no older than IDAge.
	Window int64
	IDAge  time.Duration

	// Counted says below which offset each partition of the log with this id is counted, and in no doubt. Of a partition that is
	// not in it nothing is deleted. nil: nothing is ever deleted.
	Counted func(ctx context.Context, id string) (map[models.Partition]int64, error)
}

// idMargin is how much longer ids are kept than they are looked for: clocks are set back now and then.
const idMargin = time.Hour

// free tells whether nobody needs a segment any more. The event before the first one that is not counted is needed too: it tells
// that the log is still the one that was counted.
func (r Retention) free(s segment, counted int64, now time.Time) bool {
	if s.end == 0 || s.end >= counted {
		return false
	}
	return s.end <= counted-r.Window || now.Sub(s.last) > r.IDAge+idMargin
}

// cuts decides where each partition is to begin, for those where that is later than now: without free segments that are too old, and
// without the oldest free segments while the log is too large.
func (r Retention) cuts(log []partition, counted map[models.Partition]int64, now time.Time) map[models.Partition]int64 {
	cuts := map[models.Partition]int64{}
	total := int64(0)
	next := make([]int, len(log)) // by partition: how many of its segments go
	candidate := func(i int) (s segment, ok bool) {
		s = log[i].segments[next[i]]
		return s, r.free(s, counted[log[i].Partition], now)
	}
	cut := func(i int, s segment) {
		next[i]++
		cuts[log[i].Partition] = s.end
		total -= s.size
	}
	for i := range log {
		for _, s := range log[i].segments {
			total += s.size
		}
		for s, ok := candidate(i); ok && r.Age > 0 && now.Sub(s.last) > r.Age; s, ok = candidate(i) {
			cut(i, s)
		}
	}
	for r.Bytes > 0 && total > r.Bytes {
		oldest, which := segment{}, -1
		for i := range log {
			if s, ok := candidate(i); ok && (which < 0 || s.last.Before(oldest.last)) {
				oldest, which = s, i
			}
		}
		if which < 0 {
			break // all the rest is needed
		}
		cut(which, oldest)
	}
	return cuts
}

// decide lists the log and asks what of it may go.
func (r Retention) decide(ctx context.Context, dir, id string) ([]partition, map[models.Partition]int64, error) {
	log, err := partitions(dir)
	if err != nil || r.Counted == nil {
		return log, nil, err
	}
	counted, err := r.Counted(ctx, id)
	if err != nil {
		return nil, nil, fmt.Errorf("bounding the log: %w", err)
	}
	return log, r.cuts(log, counted, time.Now()), nil
}

// Trim deletes what the retention does not keep. Readers of the log are not disturbed, unless they are about to read what goes.
func (b *Broker) Trim(ctx context.Context) error {
	_, cuts, err := b.keep.decide(ctx, b.dir, b.id)
	if err != nil {
		return err
	}
	for p, offset := range cuts {
		info := b.cluster.PartitionInfo(p.Topic, int32(p.Number)) //nolint:gosec // kfake's own number
		if info == nil || info.LogStartOffset >= offset {
			continue // files that kfake could not remove, or has no use for
		}
		if err := b.cluster.DeleteRecords(p.Topic, int32(p.Number), offset); err != nil { //nolint:gosec // kfake's own number
			return fmt.Errorf("deleting what lies before offset %d of partition %d of %s: %w", offset, p.Number, p.Topic, err)
		}
	}
	return nil
}
