package latest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// latestRows is a store that has nothing but latest clicks.
type latestRows struct {
	store.Store
	rows []models.LatestClick
	err  error
}

func (s *latestRows) KeepLatest(_ context.Context, clicks []models.LatestClick, _ time.Duration) error {
	s.rows = append(s.rows, clicks...)
	return s.err
}

func TestLatestClicksAreKept(t *testing.T) {
	store := &latestRows{}
	if l, err := New(configs.Latest{TTL: time.Hour}, store); l != nil || err != nil || l.Keep(t.Context(), slices.All([]*eventlog.Counted{})) != nil {
		t.Errorf("not enabled: %v, %v", l, err)
	}
	l, err := New(configs.Latest{Enabled: true, TTL: time.Hour}, store)
	if err != nil {
		t.Fatal(err)
	}
	now := models.Millis(time.Now().UnixMilli())
	p := models.Partition{Topic: "clicks", Number: 2}
	events := []*eventlog.Counted{
		{Partition: p, Offset: 7, Event: &models.Click{ShortURL: "abc", ID: "new", TS: now}},
		{Partition: p, Offset: 8, Event: &models.Click{ShortURL: "abc", ID: "old", TS: now - 3_601_000}},
		{Partition: p, Offset: 9, Event: &models.Visit{SiteID: "s", GUID: "g", TS: now, Features: []string{"", ""}}},
	}
	store.err = errors.New("no")
	if err := l.Keep(t.Context(), slices.All(events)); !errors.Is(err, store.err) {
		t.Errorf("a failure is lost: %v", err)
	}
	store.err = nil
	if err := l.Keep(t.Context(), slices.All(events)); err != nil {
		t.Error(err)
	}
	if len(store.rows) != 2 || store.rows[0] != store.rows[1] || store.rows[0].ID != "new" {
		t.Errorf("kept %+v, want the new click, the same both times", store.rows)
	}
}

func TestLatestRefusals(t *testing.T) {
	f := func(cfg configs.Latest, store store.Store, want string) {
		t.Helper()
		if _, err := New(cfg, store); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
	f(configs.Latest{Enabled: true}, &latestRows{}, "latest.ttl")
	f(configs.Latest{Enabled: true, TTL: 6 * 365 * 24 * time.Hour}, &latestRows{}, "latest.ttl")
	f(configs.Latest{Enabled: true, TTL: time.Hour}, nil, "does not keep")
}
