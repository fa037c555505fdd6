package fence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/fence"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// asked is a store that counts how often it was asked for owners.
type asked struct {
	*memstore.Memory
	times int
}

func (a *asked) Owners(ctx context.Context) ([]store.Owner, error) {
	a.times++
	return a.Memory.Owners(ctx)
}

// An owner that was paused for longer than the session timeout less the write timeout asks who owns its partitions before it begins a write, and
// begins none if another does.
func TestAnOwnerThatWasPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, p := &asked{Memory: memstore.New()}, models.Partition{Topic: "clicks"}
		db.Timeout = 5 * time.Second
		if _, err := db.Take(t.Context(), p, "a"); err != nil {
			t.Fatal(err)
		}
		f := &fence.Fence{Store: db, Owner: "a", Partitions: []models.Partition{p}, Session: 20 * time.Second}
		ctx := store.Fenced(t.Context(), f.Check)
		write := []store.KeyWrite{{Key: models.Key{Keyspace: models.URLShortener, Name: "link"}, Cells: map[models.Cell]int64{{Counter: models.ClickCounter}: 1}}}
		for i, after := range []time.Duration{0, 14 * time.Second, 2 * time.Second, 5 * time.Second} {
			time.Sleep(after)
			if err := db.Apply(ctx, write)[0]; err != nil {
				t.Fatal(err)
			}
			if want := 1 + i/2; db.times != want {
				t.Errorf("before write %d the store was asked %d times, want %d", i, db.times, want)
			}
		}
		if _, err := db.Take(t.Context(), p, "b"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := db.Apply(ctx, write)[0]; !errors.Is(err, eventlog.ErrTaken) || errors.Is(err, store.ErrUnknownOutcome) || db.Writes != 4 {
			t.Errorf("after another took the partition, %d writes and %v", db.Writes, err)
		}
	})
}
