package rollup

import "footfall/models"

// contribution is what one event adds to one cell of a key.
type contribution struct {
	partition models.Partition
	offset    int64
	cell      models.Cell
	n         int64
}

// contributions groups what the events add by key, over all partitions of the process: a viral link costs one write per
// flush, however its visitors are spread.
func contributions(events []*counted) map[models.Key][]contribution {
	byKey := map[models.Key][]contribution{}
	for _, e := range events {
		e.event.Count(e.first, func(key models.Key, cell models.Cell, n int64) {
			byKey[key] = append(byKey[key], contribution{e.partition, e.offset, cell, n})
		})
	}
	return byKey
}
