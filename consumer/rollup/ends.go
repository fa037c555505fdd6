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

// watchInterval is how often the log is compared with what was counted, and how long it may take to note that a partition is counted to its end.
// It is a variable for tests.
var watchInterval = 5 * time.Second

// errUnnoted: the topic's next generation waits until the store knows that a partition is counted to its end, and no chunk is left that
// would note it.
var errUnnoted = errors.New("a partition is counted to its end, and the store does not know: releasing it tells the store")

// watch returns errUnnoted when a partition has stayed so for watchInterval, a *Refusal when the log is another one than that which was counted,
// or nil when ctx ends.
func (o *ownership) watch(ctx context.Context) error {
	waits := map[models.Partition]bool{}
	for retry.Sleep(ctx, watchInterval) == nil {
		for _, err := range o.each(func(p models.Partition, own *owned) error { return o.keepTail(ctx, p, own) }) {
			return err
		}
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
