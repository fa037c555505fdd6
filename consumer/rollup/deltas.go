package rollup

import (
	"iter"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/sums"
	"footfall/consumer/rollup/positioncache"
	"footfall/models"
)

// deltas are what a chunk adds, by key.
type deltas struct {
	*sums.Sums
	listed bool // the store has the names of all keys
}

// deltasOf sums what the events add.
func deltasOf(events iter.Seq2[int, *eventlog.Counted]) deltas {
	d := deltas{Sums: sums.New()}
	d.Add(events)
	return d
}

// named has each key with its cells, for the lists of names. The map is valid until the next key: it is used again.
func (d deltas) named() iter.Seq2[models.Key, map[models.Cell]int64] {
	const few = 64 // a larger map takes long to clear
	return func(yield func(models.Key, map[models.Cell]int64) bool) {
		cells := map[models.Cell]int64{}
		for key, one := range d.All() {
			if clear(cells); one.Len() > few {
				cells = make(map[models.Cell]int64, one.Len())
			}
			for cell, n := range one.Cells() {
				cells[cell] = n
			}
			if !yield(key, cells) {
				return
			}
			if one.Len() > few {
				cells = map[models.Cell]int64{}
			}
		}
	}
}

// leaveOut removes from the sums the events that keys hold already: those below their positions.
func leaveOut(work deltas, events iter.Seq2[int, *eventlog.Counted], spans map[models.Partition]eventlog.Span, at *positioncache.ByNumber) {
	work.LeaveOut(events, spans, func(key int, p models.Partition) int64 { return at.In(key, p).To })
}
