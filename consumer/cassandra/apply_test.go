package cassandra

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/internal/tables"
	"footfall/models"
)

// A request has a statement for every cell and every ledger row of its keys: what is left out is counted twice, or never.
func TestARequestHasEveryCellAndLedgerRow(t *testing.T) {
	s := &Store{cql: newStatements(tables.Schema{Plan: models.DefaultPlan()})}
	key := models.Key{Keyspace: models.URLShortener, Name: "abc"}
	row := func(epoch, from int64) store.LedgerRow {
		return store.LedgerRow{LedgerID: store.LedgerID{Partition: models.Partition{Topic: "clicks"}, Kind: store.KindOwner, Epoch: epoch}, From: from, To: from + 3}
	}
	batch := &gocql.Batch{}
	s.add(batch, store.KeyWrite{Key: key, Ledger: []store.LedgerRow{row(1, 7), row(2, 0)},
		Cells: map[models.Cell]int64{{Counter: models.ClickCounter}: 3, {Counter: models.CountryCounters, Label: "IT"}: 2}})
	var got []string
	for _, entry := range batch.Entries {
		got = append(got, entry.Stmt)
	}
	slices.Sort(got)
	want := []string{s.cql.counter[models.ClickCounter].add, s.cql.counter[models.CountryCounters].add, s.cql.ledger[key.Keyspace], s.cql.extend[key.Keyspace]}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("statements\n%q\nwant\n%q", got, want)
	}
}

// A request is not begun that the fence refuses: here it would have no session.
func TestNoRequestBehindAFence(t *testing.T) {
	lost := errors.New("lost")
	ctx := store.Fenced(t.Context(), func(context.Context) error { return lost })
	errs := make([]error, 2)
	err := (&Store{}).applyTogether(ctx, make([]store.KeyWrite, 2), []requestPart{{index: 1}, {index: 0}}, errs)
	for _, err := range append(errs, err) {
		if !errors.Is(err, store.ErrFenced) || !errors.Is(err, lost) {
			t.Errorf("got %v, want that nothing was sent", err)
		}
	}
}
