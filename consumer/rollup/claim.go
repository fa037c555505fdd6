package rollup

import (
	"context"
	"fmt"
	"maps"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// claim commits the tables' mark for the partitions whose group offset does not have it, and returns their number. A consumer of other
// tables then sees the mark before we count an event. Call it after doubtPredecessors: the next owner trusts an offset that has
// the mark.
func (o *ownership) claim(ctx context.Context, commit eventlog.Commit) (int, error) {
	unmarked := o.places()
	maps.DeleteFunc(unmarked, func(p models.Partition, _ eventlog.GroupOffset) bool { return o.partitions[p].said.Tables == o.tables })
	if len(unmarked) == 0 {
		return 0, nil
	}
	if err := commit(ctx, unmarked); err != nil {
		return 0, fmt.Errorf("committing offsets: %w", err)
	}
	return len(unmarked), nil
}
