package rollup

import (
	"context"
	"errors"
	"time"

	"footfall/internal/retry"
	"footfall/models"
)

// atEnd tells whether the partition is counted to its seal, and the store does not know yet.
func (p *owned) atEnd() bool { return p.sealed && p.counted.Load() >= p.end && p.noted.Load() < p.end }

// endInterval is how long it may take to note that a partition is counted to its end.
const endInterval = 5 * time.Second

// errUnnoted: the topic's next generation waits until the store knows that a partition is counted to its end, and no chunk is left that
// would note it.
var errUnnoted = errors.New("a partition is counted to its end, and the store does not know: releasing it tells the store")

// watchEnds returns errUnnoted when a partition has stayed so for endInterval, or nil when ctx ends.
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
