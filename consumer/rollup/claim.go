package rollup

import (
	"context"
	"fmt"
	"maps"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// claim puts the tables' mark on the partitions whose offset has none, where counting goes on. Whoever counts into other tables then
// sees it before the first event is counted. What owners before may have had under way is in doubt by then: a mark says that an owner
// was here. It returns how many it put it on.
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
