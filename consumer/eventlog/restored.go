package eventlog

import (
	"context"
	"fmt"

	"footfall/consumer/store"
	"footfall/models"
)

// An owner commits an offset to the group first, and then notes it in the store when it leaves clean. So where the last owner left clean, the
// group's offset with the tables' mark is never beyond what the store has noted, unless the tables went back in time: they were restored from a
// snapshot. Then everything below the noted offset is counted, and beyond it only some keys of a chunk that was left, as their ledgers tell.

// restored sets places back where the tables were restored, and returns the offsets that the group had there. The owners must have been read
// after the places.
func restored(owners []store.Owner, tables string, places map[models.Partition]GroupOffset) map[models.Partition]int64 {
	known := map[models.Partition]store.Owner{}
	for _, o := range owners {
		known[o.Partition] = o
	}
	ahead := map[models.Partition]int64{}
	for p, at := range places {
		// A partition without an owner was never counted into these tables.
		if o, taken := known[p]; at.Tables == tables && at.Offset > o.Committed && (o.Clean || !taken) {
			ahead[p] = at.Offset
			places[p] = GroupOffset{Offset: o.Committed, Mark: Mark{Tables: tables}}
		}
	}
	return ahead
}

// Correct sets places back where the tables were restored from a snapshot. It changes nothing in Kafka.
func (l *Log) Correct(ctx context.Context, places map[models.Partition]GroupOffset) error {
	owners, err := l.Store.Owners(ctx)
	if err == nil {
		restored(owners, l.Tables, places)
	}
	return err
}

// FollowTables sets the group back where the tables were restored from a snapshot, so that what they lack is counted again. It returns these
// partitions, and corrects places, which must have been read before the owners. Call it before the partitions are taken: an owner that crashes would hide that its predecessor left clean.
func (l *Log) FollowTables(ctx context.Context, owners []store.Owner, places map[models.Partition]GroupOffset, commit Commit) (map[models.Partition]int64, error) {
	ahead := restored(owners, l.Tables, places)
	if len(ahead) == 0 {
		return nil, nil
	}
	back := map[models.Partition]GroupOffset{}
	for p, offset := range ahead {
		back[p] = places[p]
		l.Logger.Warn("the tables are behind their consumer group: they were restored from a snapshot; counting goes on where they end",
			"topic", p.Topic, "partition", p.Number, "group_offset", offset, "tables_offset", back[p].Offset)
	}
	if err := commit(ctx, back); err != nil {
		return nil, fmt.Errorf("setting the group back to where the restored tables end: %w", err)
	}
	return ahead, nil
}
