package sums

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/models"
	"footfall/models/modelstest"
)

// partitions are more than the bits of a sum.
var partitions = append(slices.Repeat([]models.Partition{{Topic: "visits"}}, 40), func() (clicks []models.Partition) {
	for n := range 80 {
		clicks = append(clicks, models.Partition{Topic: "clicks", Number: n})
	}
	return clicks
}()...)

// randomEvents are decided clicks and visits of few links and sites. Links have many referrers, and amounts that 32 bits do not hold.
func randomEvents(rnd *rand.Rand, n int) (out []*eventlog.Counted) {
	for i := range n {
		ts := models.Earliest + models.Millis(rnd.Int64N(3*86_400_000))
		e := &eventlog.Counted{Offset: int64(i), Partition: partitions[rnd.IntN(len(partitions))]}
		if e.Partition.Topic == "visits" {
			e.Event = &models.Visit{SiteID: fmt.Sprint("s", rnd.IntN(3)), GUID: "g", TS: ts, Features: []string{fmt.Sprint(rnd.IntN(3)), ""}}
		} else {
			e.Event = &models.Click{ShortURL: fmt.Sprint("l", rnd.IntN(4)), IP: "i", TS: ts, Referrer: fmt.Sprint(rnd.IntN(200)), Bot: rnd.IntN(9) == 0}
			if amounts := []int64{0, 1, -7, math.MaxInt32, math.MinInt32, models.MaxAmount, -models.MaxAmount}; rnd.IntN(2) == 0 {
				e.Event.(*models.Click).Amount = &amounts[rnd.IntN(len(amounts))]
			}
		}
		for range e.Event.Sightings() {
			e.First = append(e.First, rnd.IntN(2) == 0)
		}
		out = append(out, e)
	}
	return out
}

// collected is what the sums say.
func collected(all iter.Seq2[models.Key, One]) modelstest.Cells {
	got := modelstest.Cells{}
	for key, one := range all {
		got[key] = maps.Collect(one.Cells())
	}
	return got
}

func TestSumsAreThoseOfANaiveCounter(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		events := randomEvents(rnd, 1+rnd.IntN(800))
		s, want, in := New(), modelstest.Cells{}, map[models.Key]map[models.Partition]bool{}
		for part := range slices.Chunk(events, 1+rnd.IntN(300)) {
			s.Add(slices.All(part))
		}
		for _, e := range events {
			e.Event.Count(e.First, func(key models.Key, cell models.Cell, n int64) {
				want.Add(key, cell, n)
				if in[key] == nil {
					in[key] = map[models.Partition]bool{}
				}
				in[key][e.Partition] = true
			})
		}
		if !reflect.DeepEqual(collected(s.All()), want) || s.Events() != len(events) || s.Keys() != len(want) {
			t.Fatalf("seed %d: the sums differ", seed)
		}
		var keys []models.Key
		for portion := range s.Portions(1+rnd.IntN(5), func(models.Key, One) int { return 1 }) {
			for key, one := range portion {
				keys = append(keys, key)
				got := map[models.Partition]bool{}
				for p := range one.Partitions() {
					got[p] = true
				}
				if !maps.Equal(got, in[key]) {
					t.Errorf("seed %d: %v has events in %v, want %v", seed, key, got, in[key])
				}
			}
		}
		if !slices.IsSortedFunc(keys, models.Key.Compare) || len(keys) != len(want) {
			t.Errorf("seed %d: the portions are %v", seed, keys)
		}
	}
}

// What a key holds already is left out: each key has its own positions.
func TestEventsBelowAPositionAreLeftOut(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		events := randomEvents(rnd, 500)
		s, at, spans := New(), map[models.Key]map[models.Partition]int64{}, map[models.Partition]eventlog.Span{}
		for _, p := range partitions {
			spans[p] = eventlog.Span{From: 0, To: 500}
		}
		s.Add(slices.All(events))
		for key := range s.All() {
			at[key] = map[models.Partition]int64{}
			if rnd.IntN(2) == 0 {
				at[key][partitions[rnd.IntN(len(partitions))]] = rnd.Int64N(510)
			}
		}
		s.LeaveOut(slices.All(events), spans, func(key int, p models.Partition) int64 { return at[s.keys.all[key]][p] })
		want := modelstest.Cells{}
		for _, e := range events {
			e.Event.Count(e.First, func(key models.Key, cell models.Cell, n int64) {
				if e.Offset >= at[key][e.Partition] {
					want.Add(key, cell, n)
				}
			})
		}
		got := collected(s.All())
		maps.DeleteFunc(got, func(_ models.Key, cells map[models.Cell]int64) bool { return len(cells) == 0 })
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: the sums differ", seed)
		}
	}
}
