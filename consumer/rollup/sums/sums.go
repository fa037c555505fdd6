// Package sums adds up what the events of a chunk add to counters, in little memory: a key takes about 280 bytes, and a cell of it 24, since most keys have the
// same cells, such as those of an hour or a country.
package sums

import (
	"iter"
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
	byKey      []sum   // by the key's number
	order      []int32 // the numbers of the keys, in the order of the keys
	events     int
	bytes      int
}

// sum is what one key gets.
type sum struct {
	cells      []amount
	places     map[int32]int32 // by the cell's number, if there are many cells: its place in the list
	partitions []int32         // that have events of the key
}

type amount struct {
	cell int32
	n    int64
}

// many is from how many cells on a sum finds them by a map.
const many = 32

// About the bytes that a key takes, what is known of its ledger included, and a cell of a key, and a cell that no key had before.
const (
	bytesPerKey    = 280
	bytesPerAmount = 24
	bytesPerMany   = 40 // for each of many
	bytesPerCell   = 150
)

// New makes empty sums.
func New() *Sums {
	return &Sums{keys: newNumbered[models.Key](), cells: newNumbered[models.Cell]()}
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
		into *sum
	)
	count := func(k models.Key, cell models.Cell, n int64) {
		if into == nil || k != key { // an event adds to few keys, one after the other
			key, into = k, s.of(k, e.Partition)
		}
		s.add(into, cell, n)
	}
	for _, e = range events {
		into = nil
		e.Event.Count(e.First, count)
		s.events++
	}
}

// of returns the sum of a key that has an event in p.
func (s *Sums) of(key models.Key, p models.Partition) *sum {
	number, isNew := s.keys.number(key)
	if isNew {
		s.byKey = append(s.byKey, sum{})
		s.bytes += bytesPerKey
	}
	place := int32(slices.Index(s.partitions, p))
	if place < 0 {
		place = int32(len(s.partitions))
		s.partitions = append(s.partitions, p)
	}
	into := &s.byKey[number]
	if !slices.Contains(into.partitions, place) {
		into.partitions = append(into.partitions, place)
	}
	return into
}

func (s *Sums) add(into *sum, cell models.Cell, n int64) {
	number, isNew := s.cells.number(cell)
	if isNew {
		s.bytes += bytesPerCell
	}
	place, found := into.place(number)
	if !found {
		into.cells = append(into.cells, amount{cell: number})
		s.bytes += bytesPerAmount
		if into.places != nil {
			into.places[number] = int32(place)
			s.bytes += bytesPerMany
		}
	}
	into.cells[place].n += n
}

// place is where a cell is in the list, or where it comes if it is not found.
func (s *sum) place(number int32) (place int, found bool) {
	if s.places == nil && len(s.cells) >= many {
		s.places = make(map[int32]int32, 2*many)
		for i, a := range s.cells {
			s.places[a.cell] = int32(i)
		}
	}
	if s.places != nil {
		at, known := s.places[number]
		if !known {
			return len(s.cells), false
		}
		return int(at), true
	}
	for i, a := range s.cells {
		if a.cell == number {
			return i, true
		}
	}
	return len(s.cells), false
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
			if !yield(s.keys.all[number], One{s, number, &s.byKey[number]}) {
				return
			}
		}
	}
}

// Portions yields what All yields, n keys at a time.
func (s *Sums) Portions(n int) iter.Seq[iter.Seq2[models.Key, One]] {
	return func(yield func(iter.Seq2[models.Key, One]) bool) {
		for part := range slices.Chunk(s.sorted(), n) {
			if !yield(s.each(part)) {
				return
			}
		}
	}
}

// LeaveOut removes events that keys hold already: those below the offset that counted returns for the number of a key. The events must be all that were
// summed, and spans has where their partitions begin. Most chunks have none.
func (s *Sums) LeaveOut(events iter.Seq2[int, *eventlog.Counted], spans map[models.Partition]eventlog.Span, counted func(int, models.Partition) int64) {
	again := map[int32]*sum{}
	for _, one := range s.All() {
		for p := range one.Partitions() {
			if counted(one.Number(), p) > spans[p].From {
				again[one.number] = one.sum
			}
		}
	}
	if len(again) == 0 {
		return
	}
	for _, of := range again {
		of.cells, of.places = nil, nil
	}
	for _, e := range events {
		e.Event.Count(e.First, func(key models.Key, cell models.Cell, n int64) {
			number, _ := s.keys.number(key)
			if of := again[number]; of != nil && e.Offset >= counted(int(number), e.Partition) {
				s.add(of, cell, n)
			}
		})
	}
}

// One is what one key gets.
type One struct {
	all    *Sums
	number int32
	sum    *sum
}

// Number is from 0 up to the number of keys, and stays the same. It stands for the key in lists.
func (o One) Number() int { return int(o.number) }

// Len is how many cells there are.
func (o One) Len() int { return len(o.sum.cells) }

// Cells yields what each cell gets, in no order that means anything.
func (o One) Cells() iter.Seq2[models.Cell, int64] {
	return func(yield func(models.Cell, int64) bool) {
		for _, a := range o.sum.cells {
			if !yield(o.all.cells.all[a.cell], a.n) {
				return
			}
		}
	}
}

// Partitions yields those that have events of the key.
func (o One) Partitions() iter.Seq[models.Partition] {
	return func(yield func(models.Partition) bool) {
		for _, place := range o.sum.partitions {
			if !yield(o.all.partitions[place]) {
				return
			}
		}
	}
}
