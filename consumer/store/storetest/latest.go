package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// LatestReader reads the ids of a link's latest clicks of a day, in the order of the table, without using the store.
type LatestReader func(ctx context.Context, link string, day models.Millis) (ids []string, err error)

// RunLatest checks a store that keeps the latest clicks: newest first, by link and day, unchanged when written again, and
// removed after their TTL.
func RunLatest(t *testing.T, db store.LatestStore, read LatestReader) {
	t.Helper()
	const ttl = time.Hour
	link, other := name("link"), name("link")
	now := models.Millis(time.Now().UnixMilli())
	row := func(link string, ago time.Duration, offset int64) models.LatestClick {
		c := &models.Click{ShortURL: link, IP: "203.0.113.7", TS: now - models.Millis(ago.Milliseconds()), ID: fmt.Sprintf("id-%d", offset), Bot: offset%2 == 0}
		return c.Latest(models.Position{Topic: "clicks", Partition: 3, Offset: offset})
	}
	keep := func(rows ...models.LatestClick) {
		t.Helper()
		if err := db.KeepLatest(t.Context(), rows, ttl); err != nil {
			t.Fatal(err)
		}
	}
	all := func(link string) (ids []string) {
		t.Helper()
		for _, day := range []models.Millis{now.Day() + 24*3600*1000, now.Day(), now.Day() - 24*3600*1000} { // it may be midnight
			found, err := read(t.Context(), link, day)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, found...)
		}
		return ids
	}
	want := func(link string, ids ...string) {
		t.Helper()
		if got := all(link); !slices.Equal(got, ids) {
			t.Errorf("the latest clicks of %s are %q, want %q", link, got, ids)
		}
	}

	rows := []models.LatestClick{row(link, 30*time.Minute, 1), row(link, time.Minute, 2), row(link, 20*time.Minute, 3), row(link, -time.Minute, 4)}
	keep(append(rows, row(other, 0, 5), row(link, ttl+time.Minute, 6))...)
	want(link, "id-4", "id-2", "id-3", "id-1")
	want(other, "id-5")
	keep(rows...) // a replay
	want(link, "id-4", "id-2", "id-3", "id-1")

	var many []models.LatestClick
	busy := name("link")
	for i := range 1000 {
		many = append(many, row(busy, time.Duration(i)*time.Second, int64(i)))
	}
	keep(many...)
	if got := all(busy); len(got) != len(many) {
		t.Errorf("%d of %d clicks are kept", len(got), len(many))
	}

	// A row expires after its TTL, and a replay does not prolong it.
	short := name("link")
	brief := row(short, ttl-4*time.Second, 7)
	keep(brief, row(short, 0, 8))
	time.Sleep(2 * time.Second)
	keep(brief)
	deadline := time.Now().Add(4 * time.Second) // two until it expires, and two for rounding
	for time.Now().Before(deadline) && len(all(short)) > 1 {
		time.Sleep(100 * time.Millisecond)
	}
	want(short, "id-8")
}
