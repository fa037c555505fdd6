package sweep

import (
	"context"
	"fmt"
	"time"

	"footfall/consumer/cassandra/visitorrow"
	"footfall/consumer/cassandra/walk"
	"footfall/consumer/store"
	"footfall/models"
)

// dropAtOnce is how many partitions are collected before they are removed.
const dropAtOnce = 1000

// ClockSpread is how much the clocks of processes may differ.
const ClockSpread = time.Minute

// Drop is store.RetireStore.DropVisitors. A partition holds visitors of one month, and is deleted as a whole: that leaves one
// tombstone, however many rows it had. Consumers write no rows of such months any more, so the tombstone's timestamp may lie in the future.
func (t Tables) Drop(ctx context.Context, part store.Part, before models.Millis, read func(n int)) (store.Dropped, error) {
	var d store.Dropped
	var gathered []visitorrow.Partition
	asOf := time.Now().Add(ClockSpread).UnixMicro() // the clock of the consumer that wrote a row may be ahead of ours
	visitors, where := t.visitors()
	drop := func() error {
		err := t.each(ctx, len(gathered), func(ctx context.Context, i int) error {
			return t.Session.Query(`DELETE FROM `+visitors+` USING TIMESTAMP ?`+where, append([]any{asOf}, gathered[i].Args()...)...).WithContext(ctx).Exec()
		})
		if err == nil {
			d.Partitions += len(gathered)
			gathered = gathered[:0]
		}
		return err
	}
	err := t.eachPartition(ctx, walk.PartOf(part), func(p visitorrow.Partition) error {
		d.Read++
		read(1)
		if over(p.Month, before) {
			gathered = append(gathered, p)
		}
		if len(gathered) >= dropAtOnce {
			return drop()
		}
		return nil
	})
	if err == nil {
		err = drop()
	}
	if err != nil {
		return d, fmt.Errorf("removing visitors: %w", err)
	}
	return d, nil
}
