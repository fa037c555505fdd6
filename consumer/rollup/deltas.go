package rollup

import (
	"iter"
	"maps"
	"slices"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// sum is what a chunk adds to one key, over all partitions of this consumer. So a viral link costs one write per flush, however
// many partitions its visitors are in.
type sum struct {
	cells      map[models.Cell]int64
	partitions []models.Partition // that have events of the key
	paid       int                // cells that deltas.bytes has
}

// deltas are what a chunk adds, by key.
type deltas struct {
	sums map[models.Key]*sum
	keys []models.Key // sorted: each run does the same in the same order, so that the simulation can replay a fault

	n      int  // events that are summed
	bytes  int  // about what the sums take, and what is planned with them
	listed bool // the store has the names of all keys
}

// all has each key with its cells.
func (d *deltas) all() iter.Seq2[models.Key, map[models.Cell]int64] {
	return func(yield func(models.Key, map[models.Cell]int64) bool) {
		for _, key := range d.keys {
			if !yield(key, d.sums[key].cells) {
				return
			}
		}
	}
}

// What a key takes with up to eight cells, its write and its positions included, and each further cell.
const (
	bytesPerKey  = 950
	bytesPerCell = 95
	cellsPerKey  = 8
)

// deltasOf sums what the events add.
func deltasOf(events iter.Seq2[int, *eventlog.Counted]) deltas {
	d := deltas{sums: map[models.Key]*sum{}}
	d.add(events)
	d.sort()
	return d
}

// add sums what more events add.
func (d *deltas) add(events iter.Seq2[int, *eventlog.Counted]) {
	var (
		e   *eventlog.Counted
		key models.Key
		s   *sum
	)
	count := func(k models.Key, cell models.Cell, n int64) {
		if s == nil || k != key { // an event adds to few keys, one after the other
			key, s = k, d.sum(k)
			if !slices.Contains(s.partitions, e.Partition) {
				s.partitions = append(s.partitions, e.Partition)
			}
		}
		s.cells[cell] += n
		if len(s.cells) > s.paid {
			s.paid++
			d.bytes += bytesPerCell
		}
	}
	for _, e = range events {
		s = nil
		e.Event.Count(e.First, count)
		d.n++
	}
	d.listed = false
}

// sort lists the keys, once all events are summed.
func (d *deltas) sort() {
	if len(d.keys) < len(d.sums) {
		d.keys = slices.SortedFunc(maps.Keys(d.sums), models.Key.Compare)
	}
}

// sum returns the key's sum, a new one if there is none.
func (d *deltas) sum(key models.Key) *sum {
	s := d.sums[key]
	if s == nil {
		s = &sum{cells: map[models.Cell]int64{}, paid: cellsPerKey}
		d.sums[key] = s
		d.bytes += bytesPerKey
	}
	return s
}

// leaveOut removes from the sums the events that keys hold already: those below their positions. Most chunks have none.
func leaveOut(work deltas, events iter.Seq2[int, *eventlog.Counted], spans map[models.Partition]eventlog.Span, at map[models.Key]positions) {
	again := map[models.Key]bool{}
	for key, s := range work.sums {
		for _, p := range s.partitions {
			if at[key].in(p).To > spans[p].From {
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
		e.Event.Count(e.First, func(key models.Key, cell models.Cell, n int64) {
			if again[key] && e.Offset >= at[key].in(e.Partition).To {
				work.sums[key].cells[cell] += n
			}
		})
	}
}
