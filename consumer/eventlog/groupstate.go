package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/store"
	"footfall/models"
)

// Members asks how many the group has.
func (l *Log) Members(ctx context.Context) (n int, err error) {
	id := l.Config.Kafka.Group
	groups, err := l.Kafka.Client(10*time.Second).DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{id}})
	if err != nil {
		return 0, fmt.Errorf("asking for the members of group %s: %w", id, err)
	}
	for _, g := range groups.Groups {
		n += len(g.Members)
	}
	return n, nil
}

// Committed is how far a group is, by what Kafka says, and by what its members left in the store: Kafka forgets groups that are
// empty for long.
func (l *Log) Committed(ctx context.Context, db store.Store, group string, partitions []models.Partition) (map[models.Partition]int64, error) {
	out := map[models.Partition]int64{}
	for _, p := range partitions {
		to, err := db.Committed(ctx, p)
		if err != nil {
			return nil, err
		}
		out[p] = to
	}
	tables, err := tablesOf(ctx, db)
	if err != nil {
		return nil, err
	}
	places, err := l.GroupOffsets(ctx, group, partitions)
	if err != nil {
		return nil, err
	}
	for p, at := range places {
		if at.Tables == tables { // else it was moved, or is of others
			out[p] = max(out[p], at.Offset)
		}
	}
	return out, nil
}
