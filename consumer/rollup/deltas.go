package rollup

import (
	"maps"
	"slices"

	"footfall/models"
)

// sum is what a chunk adds to one key, over all partitions of the process: a viral link costs one write per flush, however its
// visitors are spread.
type sum struct {
	cells      map[models.Cell]int64
	partitions []models.Partition // that have events of the key
}

// deltas are what a chunk adds, by key.
type deltas struct {
	sums map[models.Key]*sum
	keys []models.Key // in order, so that what is done for each is done in the same order each time: else no fault could be replayed
}

// deltasOf adds up what the events are worth.
func deltasOf(events []*counted) deltas {
	byKey := map[models.Key]*sum{}
	for _, e := range events {
		var key models.Key
		var s *sum
		e.event.Count(e.first, func(k models.Key, cell models.Cell, n int64) {
			if s == nil || k != key { // most events have few keys
				key = k
				if s = byKey[k]; s == nil {
					s = &sum{cells: map[models.Cell]int64{}}
					byKey[k] = s
				}
				if !slices.Contains(s.partitions, e.partition) {
					s.partitions = append(s.partitions, e.partition)
				}
			}
			s.cells[cell] += n
		})
	}
	return deltas{byKey, slices.SortedFunc(maps.Keys(byKey), models.Key.Compare)}
}

// leaveOut takes out again what keys hold already: events below their positions. That is seldom any.
func leaveOut(work deltas, events []*counted, spans map[models.Partition]span, at map[models.Key]positions) {
	again := map[models.Key]bool{}
	for key, s := range work.sums {
		for _, p := range s.partitions {
			if at[key][p].to > spans[p].from {
				again[key] = true
			}
		}
	}
	if len(again) == 0 {
		return
	}
	for key := range again {
		work.sums[key].cells = map[models.Cell]int64{}
	}
	for _, e := range events {
		e.event.Count(e.first, func(key models.Key, cell models.Cell, n int64) {
			if again[key] && e.offset >= at[key][e.partition].to {
				work.sums[key].cells[cell] += n
			}
		})
	}
}

// contribution is what one event adds to one cell of a key.
type contribution struct {
	partition models.Partition
	offset    int64
	cell      models.Cell
	n         int64
}

// contributions lists what the events add, by key.
func contributions(events []*counted) map[models.Key][]contribution {
	byKey := map[models.Key][]contribution{}
	for _, e := range events {
		e.event.Count(e.first, func(key models.Key, cell models.Cell, n int64) {
			byKey[key] = append(byKey[key], contribution{e.partition, e.offset, cell, n})
		})
	}
	return byKey
}
