package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/store"
	"footfall/models"
)

// Members asks Kafka how many members the group has.
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

// Committed returns up to which offset each partition is counted into db: the higher of the store's record and the group's offset, if that
// has the mark of these tables. Kafka deletes the offsets of groups that are empty for long.
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
	owners, err := db.Owners(ctx)
	if err != nil {
		return nil, err
	}
	restored(owners, tables, places)
	for p, at := range places {
		if at.Tables == tables { // else somebody moved it, or it is about other tables
			out[p] = max(out[p], at.Offset)
		}
	}
	return out, nil
}
