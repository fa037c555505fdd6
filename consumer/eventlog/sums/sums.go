// Package sums adds up what the events of a chunk add to counters, in little memory: a key takes about 170 bytes, and a cell of it 13, since most keys have the
// same cells, such as those of an hour or a country.
package sums

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// Sums are what events add, by key and cell, over all partitions of a consumer. So a viral link costs one write per flush, however many
// partitions its visitors are in. Not safe for concurrent use.
type Sums struct {
	keys       numbered[models.Key]
	cells      numbered[models.Cell]
	partitions []models.Partition
	byKey      []sum                     // by the key's number
	places     map[int32]map[int32]int32 // of keys with many cells: the place in their list, by the cell's number
	large      map[cellOf]int64          // amounts that int32 does not hold
	further    map[int32][]int           // of keys with events in further partitions: the places of those
	order      []int32                   // the numbers of the keys, in the order of the keys
	events     int
	bytes      int
}

// sum is what one key gets.
type sum struct {
	cells      []amount
	partitions uint64 // that have events of the key: a bit for each place below 64
}

// amount is what a cell of a key gets. n is inLarge if the amount is in large.
type amount struct{ cell, n int32 }

const inLarge = math.MinInt32

// cellOf is a cell of a key, by their numbers.
type cellOf struct{ key, cell int32 }

// many is from how many cells on a sum finds them by a map.
const many = 32

// About the bytes that a key takes, what is known of its ledger included, and a cell of a key, and a cell that no key had before.
const (
	bytesPerKey    = 170
	bytesPerAmount = 13
	bytesForMany   = 1200 // once for a key with many cells
	bytesPerMany   = 20   // for each further one
	bytesPerLarge  = 60
	bytesPerPlace  = 80 // in further
	bytesPerCell   = 110
)

// New makes empty sums.
func New() *Sums {
	return &Sums{
		keys: newNumbered[models.Key](), cells: newNumbered[models.Cell](),
		places: map[int32]map[int32]int32{}, large: map[cellOf]int64{}, further: map[int32][]int{},
	}
}

// Events is how many events are summed.
func (s *Sums) Events() int { return s.events }

// Bytes is about the memory that the sums take.
func (s *Sums) Bytes() int { return s.bytes }

// Add sums what more events add. They must be decided.
func (s *Sums) Add(events iter.Seq2[int, *eventlog.Counted]) {
	var (
		e    *eventlog.Counted
		key  models.Key
		into = int32(-1)
	)
	count := func(k models.Key, cell models.Cell, n int64) {
		if into < 0 || k != key { // an event adds to few keys, one after the other
			key, into = k, s.of(k, e.Partition)
		}
		s.add(into, cell, n)
	}
	for _, e = range events {
		into = -1
		e.Event.Count(e.First, count)
		s.events++
	}
}

// of returns the number of a key that has an event in p.
func (s *Sums) of(key models.Key, p models.Partition) int32 {
	number, isNew := s.keys.number(key)
	if isNew {
		s.byKey = append(s.byKey, sum{})
		s.bytes += bytesPerKey + len(key.Features) // its name is the events' own, and so are labels
	}
	place := slices.Index(s.partitions, p)
	if place < 0 {
		place = len(s.partitions)
		s.partitions = append(s.partitions, p)
	}
	if place < 64 {
		s.byKey[number].partitions |= 1 << place
	} else if !slices.Contains(s.further[number], place) {
		s.further[number] = append(s.further[number], place)
		s.bytes += bytesPerPlace
	}
	return number
}

func (s *Sums) add(key int32, cell models.Cell, n int64) {
	number, isNew := s.cells.number(cell)
	if isNew {
		s.bytes += bytesPerCell
	}
	into := &s.byKey[key]
	place, found := s.place(key, number)
	if !found {
		into.cells = append(into.cells, amount{cell: number})
		s.bytes += bytesPerAmount
		if places := s.places[key]; places != nil {
			places[number] = int32(place)
			s.bytes += bytesPerMany
		}
	}
	to := &into.cells[place]
	n += s.amount(key, *to)
	if to.n != inLarge && n > inLarge && n <= math.MaxInt32 {
		to.n = int32(n)
		return
	}
	if to.n != inLarge {
		to.n = inLarge
		s.bytes += bytesPerLarge
	}
	s.large[cellOf{key, number}] = n
}

// amount is what a cell of a key gets.
func (s *Sums) amount(key int32, a amount) int64 {
	if a.n == inLarge {
		return s.large[cellOf{key, a.cell}]
	}
	return int64(a.n)
}

// place is where a cell is in the list of a key, or where it comes if it is not found.
func (s *Sums) place(key, cell int32) (place int, found bool) {
	cells := s.byKey[key].cells
	if len(cells) < many {
		for i, a := range cells {
			if a.cell == cell {
				return i, true
			}
		}
		return len(cells), false
	}
	places := s.places[key]
	if places == nil {
		places = make(map[int32]int32, 2*many)
		for i, a := range cells {
			places[a.cell] = int32(i)
		}
		s.places[key] = places
		s.bytes += bytesForMany
	}
	at, known := places[cell]
	if !known {
		return len(cells), false
	}
	return int(at), true
}

// Keys is how many keys there are.
func (s *Sums) Keys() int { return len(s.byKey) }

// All yields the keys in their order, so that each run does the same and the simulation can replay a fault.
func (s *Sums) All() iter.Seq2[models.Key, One] { return s.each(s.sorted()) }

// sorted returns the numbers of the keys, in the order of the keys.
func (s *Sums) sorted() []int32 {
	if len(s.order) < len(s.byKey) {
		s.order = s.order[:0]
		for number := range s.byKey {
			s.order = append(s.order, int32(number))
		}
		slices.SortFunc(s.order, func(a, b int32) int { return s.keys.all[a].Compare(s.keys.all[b]) })
	}
	return s.order
}

func (s *Sums) each(numbers []int32) iter.Seq2[models.Key, One] {
	return func(yield func(models.Key, One) bool) {
		for _, number := range numbers {
			if !yield(s.keys.all[number], One{s, number}) {
				return
			}
		}
	}
}

// Portions yields what All yields, in portions of keys that are together about as large as that.
func (s *Sums) Portions(large int, size func(models.Key, One) int) iter.Seq[iter.Seq2[models.Key, One]] {
	return func(yield func(iter.Seq2[models.Key, One]) bool) {
		begin, sum, all := 0, 0, s.sorted()
		for i, number := range all {
			if sum += size(s.keys.all[number], One{s, number}); sum < large && i < len(all)-1 {
				continue
			}
			if !yield(s.each(all[begin : i+1])) {
				return
			}
			begin, sum = i+1, 0
		}
	}
}

// LeaveOut removes events that keys hold already: those below the offset that counted returns for the number of a key. The events must be all that were
// summed, and spans has where their partitions begin. Most chunks have none.
func (s *Sums) LeaveOut(events iter.Seq2[int, *eventlog.Counted], spans map[models.Partition]eventlog.Span, counted func(int, models.Partition) int64) {
	again := map[int32]bool{}
	for _, one := range s.All() {
		for p := range one.Partitions() {
			if counted(one.Number(), p) > spans[p].From {
				again[one.number] = true
			}
		}
	}
	if len(again) == 0 {
		return
	}
	for key := range again {
		s.byKey[key].cells = nil
		delete(s.places, key)
	}
	for _, e := range events {
		e.Event.Count(e.First, func(key models.Key, cell models.Cell, n int64) {
			number, _ := s.keys.number(key)
			if again[number] && e.Offset >= counted(int(number), e.Partition) {
				s.add(number, cell, n)
			}
		})
	}
}

// One is what one key gets.
type One struct {
	all    *Sums
	number int32
}

// Number is from 0 up to the number of keys, and stays the same. It stands for the key in lists.
func (o One) Number() int { return int(o.number) }

// Len is how many cells there are.
func (o One) Len() int { return len(o.all.byKey[o.number].cells) }

// Cells yields what each cell gets, in no order that means anything.
func (o One) Cells() iter.Seq2[models.Cell, int64] {
	return func(yield func(models.Cell, int64) bool) {
		for _, a := range o.all.byKey[o.number].cells {
			if !yield(o.all.cells.all[a.cell], o.all.amount(o.number, a)) {
				return
			}
		}
	}
}

// Names yields the cells alone.
func (o One) Names() iter.Seq[models.Cell] {
	return func(yield func(models.Cell) bool) {
		for cell := range o.Cells() {
			if !yield(cell) {
				return
			}
		}
	}
}

// Partitions yields those that have events of the key.
func (o One) Partitions() iter.Seq[models.Partition] {
	return func(yield func(models.Partition) bool) {
		for left := o.all.byKey[o.number].partitions; left != 0; left &= left - 1 {
			if !yield(o.all.partitions[bits.TrailingZeros64(left)]) {
				return
			}
		}
		for _, place := range o.all.further[o.number] {
			if !yield(o.all.partitions[place]) {
				return
			}
		}
	}
}
