package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/embedded/sqlite"
	"footfall/models"
)

// While counters are written a note waits. If it is given up, readers see the last one, which says less than is counted, never more.
func TestNotesOfProgressWaitForTheWriter(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	stats := openStats(t, dir)
	note := func(counted int64) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return db.NoteProgress(ctx, []store.Progress{{Partition: models.Partition{Topic: "clicks"}, Counted: counted, LogEnd: 20, At: time.Now()}})
	}
	wantNoted := func(want int64) {
		t.Helper()
		rows, err := stats.Progress(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Counted != want {
			t.Errorf("readers are told %+v, %v; want one row with %d counted", rows, err, want)
		}
	}
	if err := note(5); err != nil {
		t.Fatal(err)
	}
	err := sqlite.WhileWriting(db, func() {
		if err := note(9); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a note beside a write: %v, want that its time is over", err)
		}
		wantNoted(5)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantNoted(5) // what was given up is not stored later
	if err := note(9); err != nil {
		t.Fatal(err)
	}
	wantNoted(9)
}
