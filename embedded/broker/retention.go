package broker

import (
	"context"
	"fmt"
	"time"

	"footfall/models"
)

// Retention bounds the log. Whatever the bounds are, it keeps events that are not counted or in doubt, ids that are needed to find
// duplicates, and the last segment of every partition: without that the partition would begin at offset 0 again.
type Retention struct {
	Bytes int64         // records of all partitions together; 0: no bound
	Age   time.Duration // since a segment was written last; 0: no bound

	// An id is needed if it is both within the last Window counted offsets and no older than IDAge.
	Window int64
	IDAge  time.Duration

	// Counted returns, for the log with this id, the offset below which each partition is counted and not in doubt. Nothing is deleted from
	// a partition that is missing there. nil: nothing is ever deleted.
	Counted func(ctx context.Context, id string) (map[models.Partition]int64, error)
}

// idMargin is how much longer than IDAge ids are kept, in case a clock is set back.
const idMargin = time.Hour

// free reports whether a segment is no longer needed. The last counted event of a partition is needed: it shows that the log is still the
// one that was counted.
func (r Retention) free(s segment, counted int64, now time.Time) bool {
	if s.end == 0 || s.end >= counted {
		return false
	}
	return s.end <= counted-r.Window || now.Sub(s.last) > r.IDAge+idMargin
}

// cuts returns the new first offsets of the partitions to be trimmed: without free segments that are too old, and without the oldest free
// segments while the log is too large.
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
			break // all other segments are needed
		}
		cut(which, oldest)
	}
	return cuts
}

// decide lists the log and computes its cuts.
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

// Trim deletes the segments that the retention does not keep. Readers notice only if they are about to read one of these.
func (b *Broker) Trim(ctx context.Context) error {
	_, cuts, err := b.keep.decide(ctx, b.dir, b.id)
	if err != nil {
		return err
	}
	for p, offset := range cuts {
		info := b.cluster.PartitionInfo(p.Topic, int32(p.Number)) //nolint:gosec // kfake's own number
		if info == nil || info.LogStartOffset >= offset {
			continue // files that kfake could not remove or does not use
		}
		if err := b.cluster.DeleteRecords(p.Topic, int32(p.Number), offset); err != nil { //nolint:gosec // kfake's own number
			return fmt.Errorf("deleting records before offset %d of partition %d of %s: %w", offset, p.Number, p.Topic, err)
		}
	}
	return nil
}
