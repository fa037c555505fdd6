package repair

import (
	"footfall/consumer/eventlog"
	"footfall/models"
)

// contribution is what one event adds to one cell of a key.
type contribution struct {
	partition models.Partition
	Offset    int64
	Cell      models.Cell
	N         int64
}

// contributionsOf lists what the events add, by key.
func contributionsOf(events []*eventlog.Counted) map[models.Key][]contribution {
	byKey := map[models.Key][]contribution{}
	for _, e := range events {
		e.Event.Count(e.First, func(key models.Key, cell models.Cell, n int64) {
			byKey[key] = append(byKey[key], contribution{e.Partition, e.Offset, cell, n})
		})
	}
	return byKey
}
