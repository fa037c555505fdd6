package storetest

import (
	"fmt"
	"slices"
	"testing"

	"footfall/consumer/store"
	"footfall/models"
	"footfall/models/modelstest"
)

// RunPlan checks a store whose tables were made for a plan: visits with all features, and with some, are stored, counted
// and found again under every combination.
func RunPlan(t *testing.T, plan *models.Plan, open func(t *testing.T) (store.Store, Reader)) {
	t.Helper()
	db, read := open(t)
	s := &suite{store: db, read: read}
	ts, place := at(t, "2018-11-01 14:25"), name("site")
	all := make([]string, len(plan.Features()))
	for i, feature := range plan.Features() {
		all[i] = feature + "'s value"
	}
	swapped := slices.Clone(all)
	slices.Reverse(swapped)

	first := map[models.Sighting]models.Position{}
	counts := modelstest.Cells{}
	for i, features := range [][]string{all, make([]string, len(all)), swapped, all} {
		v := &models.Visit{SiteID: place, GUID: fmt.Sprint("guid", i), TS: ts, Features: features, Plan: plan}
		sightings := v.Sightings()
		for j, sighting := range sightings {
			first[sighting] = models.Position{Topic: "visits", Partition: i, Offset: int64(j)}
		}
		v.Count(slices.Repeat([]bool{true}, len(sightings)), counts.Add)
	}
	if len(first) > 0 {
		s.remember(t, first)
		stranger := &models.Visit{SiteID: place, GUID: "stranger", TS: ts, Features: all, Plan: plan}
		s.wantSeen(t, first, stranger.Sightings()...)
	}

	withRows(func(t *testing.T, v *visitors) {
		for i, features := range [][]string{all, make([]string, len(all)), swapped, all} {
			v.visit(&models.Visit{SiteID: name("site"), GUID: fmt.Sprint("guid", i%2), TS: ts, Features: features, Plan: plan})
		}
		v.rememberAll(t)
		v.check(t)
		v.wantSeen(t, v.first)
	})(t, s)

	var writes []store.KeyWrite
	ledger, n := map[models.Key][]store.LedgerRow{}, int64(0)
	for key, cells := range counts {
		n++
		ledger[key] = []store.LedgerRow{row("visits", 3, store.KindOwner, 1, n, 2*n)}
		writes = append(writes, store.KeyWrite{Key: key, Cells: cells, Ledger: ledger[key]})
	}
	s.apply(t, writes...)
	for key, cells := range counts {
		for cell, value := range cells {
			s.wantCell(t, key, cell, value)
		}
	}
	s.wantLedger(t, ledger)
	for _, metric := range models.AllMetrics() {
		if slices.Contains(plan.Metrics(), metric) {
			continue
		}
		key := writes[0].Key
		if of, _ := models.CounterOf(metric); of.Keyspace != key.Keyspace {
			key = models.LinkKey("left-out")
		}
		w := store.KeyWrite{Key: key, Cells: map[models.Cell]int64{{Counter: metric, At: ts.Day()}: 1}}
		if err := s.store.Apply(t.Context(), []store.KeyWrite{w})[0]; err == nil {
			t.Errorf("%s is not kept, but was written", metric)
		}
	}
}
