package storetest

import (
	"slices"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

func testDoubts(t *testing.T, s *suite) {
	topic := name("topic")
	p, other := models.Partition{Topic: topic}, models.Partition{Topic: topic, Number: 1}
	now := time.Now().Truncate(time.Millisecond)
	doubt := func(id, from, to int64, checks int) store.Doubt {
		return store.Doubt{Partition: p, ID: id, From: from, To: to, Reason: "it's \"odd\"", Since: now.Add(-time.Hour), NotedAt: now, Due: now.Add(time.Minute), Checks: checks}
	}
	want := func(doubts ...store.Doubt) {
		t.Helper()
		got, err := s.store.Doubts(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b store.Doubt) int { return int(a.ID - b.ID) })
		same := slices.EqualFunc(got, doubts, func(a, b store.Doubt) bool {
			equal := a.Since.Equal(b.Since) && a.NotedAt.Equal(b.NotedAt) && a.Due.Equal(b.Due)
			a.Since, a.NotedAt, a.Due = b.Since, b.NotedAt, b.Due
			return equal && a == b
		})
		if !same {
			t.Errorf("doubts %v, want %v", got, doubts)
		}
	}
	want()
	// The same offsets may be in doubt twice; a doubt replaces one with the same ID.
	for _, d := range []store.Doubt{doubt(1, 10, 20, 0), doubt(2, 10, 20, 0), doubt(3, 0, 5, 0), doubt(1, 12, 20, 2)} {
		if err := s.store.NoteDoubt(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	want(doubt(1, 12, 20, 2), doubt(2, 10, 20, 0), doubt(3, 0, 5, 0))
	if got, err := s.store.Doubts(t.Context(), other); err != nil || len(got) > 0 {
		t.Errorf("doubts about another partition: %v, %v", got, err)
	}
	if err := s.store.SettleDoubt(t.Context(), doubt(2, 10, 20, 0)); err != nil {
		t.Fatal(err)
	}
	want(doubt(1, 12, 20, 2), doubt(3, 0, 5, 0))
}

func testSetting(t *testing.T, s *suite) {
	n := name("setting")
	if recorded, err := s.store.Setting(t.Context(), n, ""); err != nil || recorded != "" {
		t.Errorf("%q is recorded before anything was, %v", recorded, err)
	}
	for _, value := range []string{"6", "6", "it's 12", ""} {
		if recorded, err := s.store.Setting(t.Context(), n, value); err != nil || recorded != "6" {
			t.Errorf("called with %q: %q recorded, %v; want 6", value, recorded, err)
		}
	}
}

// testConfirm: Confirm returns the same rows as Ledger; here every replica answers.
func testConfirm(t *testing.T, s *suite) {
	key, absent := link(), link()
	cell := models.Cell{Counter: models.ClickCounter}
	row := store.LedgerRow{LedgerID: store.LedgerID{Partition: models.Partition{Topic: name("topic")}, Kind: store.KindOwner, Epoch: 1}, From: 3, To: 9}
	write := store.KeyWrite{Key: key, Cells: map[models.Cell]int64{cell: 2}, Ledger: []store.LedgerRow{row}}
	if err := s.store.Apply(t.Context(), []store.KeyWrite{write})[0]; err != nil {
		t.Fatal(err)
	}
	rows, complete, err := store.Confirmed(t.Context(), s.store, map[models.Key][]models.Cell{key: {cell}, absent: {cell}})
	if err != nil || !complete {
		t.Fatalf("confirming: complete %v, %v", complete, err)
	}
	if !slices.Equal(rows[key], []store.LedgerRow{row}) || len(rows[absent]) > 0 {
		t.Errorf("confirmed %v, want %v", rows, row)
	}
}

func testProgress(t *testing.T, s *suite) {
	p := models.Partition{Topic: name("topic")}
	committed := func(want int64) {
		t.Helper()
		if got, err := s.store.Committed(t.Context(), p); err != nil || got != want {
			t.Errorf("Committed is %d, %v; want %d", got, err, want)
		}
	}
	committed(0)
	first, err := s.store.Take(t.Context(), p, "first")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.store.Progress(t.Context(), first, 7); !ok || err != nil {
		t.Fatalf("progress of the owner: %v, %v", ok, err)
	}
	committed(7)
	second, err := s.store.Take(t.Context(), p, "second")
	if err != nil {
		t.Fatal(err)
	}
	if second.Fresh || second.Before != first.Epoch || second.Epoch <= first.Epoch || second.Committed != 7 {
		t.Errorf("after progress without leaving the next owner gets %+v, want the next epoch and 7", second)
	}
	if ok, err := s.store.Progress(t.Context(), first, 9); ok || err != nil {
		t.Errorf("progress of an owner that lost the partition: %v, %v", ok, err)
	}
	committed(7)
}
