package rollup

import (
	"context"
	"errors"
	"time"

	"footfall/internal/retry"
	"footfall/models"
)

// atEnd tells whether the partition is counted to where it ends for good, and the store does not know.
func (p *owned) atEnd() bool { return p.sealed && p.counted.Load() >= p.end && p.noted.Load() < p.end }

// endInterval is how long it may take to note that a partition is counted to its end.
const endInterval = 5 * time.Second

// errUnnoted: others wait to hear that a partition is counted to its end, and nothing is left to count that it could be said with.
var errUnnoted = errors.New("that a partition is counted to its end was not noted: letting go of it says so")

// watchEnds returns errUnnoted when that is so, or nil when ctx ends.
func (o *ownership) watchEnds(ctx context.Context) error {
	waits := map[models.Partition]bool{}
	for retry.Sleep(ctx, endInterval) == nil {
		for p, own := range o.partitions {
			if !own.atEnd() {
				delete(waits, p)
			} else if waits[p] {
				return errUnnoted
			} else {
				waits[p] = true
			}
		}
	}
	return nil
}
