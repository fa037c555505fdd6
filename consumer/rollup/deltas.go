package rollup

import (
	"cmp"

	"footfall/models"
)

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

// compareKeys orders keys, so that what is done for each is done in the same order each time.
func compareKeys(a, b models.Key) int {
	return cmp.Or(cmp.Compare(a.Keyspace, b.Keyspace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Month, b.Month),
		cmp.Compare(a.Features, b.Features))
}

func comparePartitions(a, b models.Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
}
