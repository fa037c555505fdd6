package repair

import (
	"footfall/consumer/eventlog"
	"footfall/models"
)

// Contribution is what one event adds to one cell of a key.
type Contribution struct {
	partition models.Partition
	Offset    int64
	Cell      models.Cell
	N         int64
}

// Contributions lists what the events add, by key.
func Contributions(events []*eventlog.Counted) map[models.Key][]Contribution {
	byKey := map[models.Key][]Contribution{}
	for _, e := range events {
		e.Event.Count(e.First, func(key models.Key, cell models.Cell, n int64) {
			byKey[key] = append(byKey[key], Contribution{e.Partition, e.Offset, cell, n})
		})
	}
	return byKey
}
