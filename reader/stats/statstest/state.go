package statstest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

func testProgress(t *testing.T, s stats.Store, tables Tables) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	want := map[models.Partition]stats.Progress{}
	for i, topic := range []string{"noted", "noted", "noted-g2"} {
		p := stats.Progress{Partition: models.Partition{Topic: topic, Number: i}, Counted: int64(i), LogEnd: 10, EventTime: now.Add(-time.Hour), At: now}
		if i == 0 {
			p.EventTime = time.Time{} // nothing was counted yet
		}
		want[p.Partition] = p
		tables.Note(t, p)
	}
	again := want[models.Partition{Topic: "noted", Number: 1}]
	again.Counted = 10
	want[again.Partition] = again
	tables.Note(t, again)
	rows, err := s.Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if w, ours := want[row.Partition]; ours {
			delete(want, row.Partition)
			if row.Counted != w.Counted || row.LogEnd != w.LogEnd || !row.EventTime.Equal(w.EventTime) || row.EventTime.IsZero() != w.EventTime.IsZero() || !row.At.Equal(w.At) {
				t.Errorf("%+v, want %+v", row, w)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not read: %v", want)
	}
}

func testPulse(t *testing.T, s stats.Store, tables Tables) {
	now := time.Now().UTC().Truncate(time.Second)
	pulse := stats.NewPulse(s, "pulse", "stillness", func() time.Time { return now })
	for i, counted := range []int64{40, 44, 44, 50} {
		now = now.Add(time.Second)
		tables.Note(t, stats.Progress{Partition: models.Partition{Topic: "pulse-g2", Number: 1}, Counted: counted, LogEnd: 60, EventTime: now, At: now})
		if err := pulse.ReadOnce(t.Context()); err != nil {
			t.Fatal(i, err)
		}
	}
	m := pulse.Last()
	same(t, "clicks by second", m.Clicks.Bars[stats.Bars-5:], 0, 4, 0, 6, 0)
	if m.Clicks.Counted != 10 || m.Clicks.Lag != 10 || m.Visits.Counted != 0 || m.Watched != 3*time.Second {
		t.Errorf("%+v, want 10 clicks in 3 s, and 10 that wait", m)
	}
}

func testPartitions(t *testing.T, s stats.Store, tables Tables) {
	tables.Split(t, "split", 6)
	tables.Split(t, "split-g2", 12)
	for topic, want := range map[string]int{"split": 6, "split-g2": 12, "never": 0} {
		if got, err := s.Partitions(t.Context(), topic); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", topic, got, err, want)
		}
	}
}

func testDoubts(t *testing.T, s stats.Store, tables Tables) {
	tables.Doubt(t, models.Partition{Topic: "doubted"}, 1)
	tables.Doubt(t, models.Partition{Topic: "doubted"}, 2)
	tables.Doubt(t, models.Partition{Topic: "doubted", Number: 5}, 1)
	tables.Doubt(t, models.Partition{Topic: "doubted-g2"}, 1)
	got, err := s.Doubts(t.Context())
	if err != nil || got["doubted"] != 3 || got["doubted-g2"] != 1 || got["certain"] != 0 {
		t.Errorf("%v, %v; want 3 of doubted, 1 of doubted-g2", got, err)
	}
}

func testRetired(t *testing.T, s stats.Store, tables Tables) {
	read := func(want models.Millis) {
		t.Helper()
		if got, err := s.RetiredBefore(t.Context()); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got.Time(), err, want.Time())
		}
	}
	read(0)
	if !tables.Retire(t, at("2017-01-01"), true) {
		return // its tables have no retirements, and it says 0
	}
	tables.Retire(t, at("2016-01-01"), true)
	read(at("2017-01-01"))
	tables.Retire(t, at("2018-01-01"), false)
	read(at("2017-01-01")) // announced is not done
}

// testStops leaves sequences before their end: others must still be answered.
func testStops(t *testing.T, s stats.Store, tables Tables) {
	cells := map[models.Cell]int64{}
	for i := range 200 {
		cells[models.Cell{Counter: models.ReferrerCounters, Label: fmt.Sprint(i)}] = 1
	}
	tables.Count(t, Counts{models.LinkKey("stopped"): cells})
	for range 100 { // more than there are connections
		for _, err := range s.Shares(t.Context(), "stopped", models.ReferrerCounters, stats.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if n := len(collect(t, s.Shares(t.Context(), "stopped", models.ReferrerCounters, stats.Range{}))); n != 200 {
		t.Errorf("%d referrers, want 200", n)
	}
}

// testSlow has many sequences under way whose consumers do not go on: others must be answered.
func testSlow(t *testing.T, s stats.Store, tables Tables) {
	cells := map[models.Cell]int64{}
	for i := range 200 {
		cells[models.Cell{Counter: models.ReferrerCounters, Label: fmt.Sprint(i)}] = 1
	}
	tables.Count(t, Counts{models.LinkKey("slow"): cells})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 64 { // as many as a reader answers at once by default
		next, stop := iter.Pull2(s.Shares(ctx, "slow", models.ReferrerCounters, stats.Range{}))
		defer stop()
		if _, err, ok := next(); err != nil || !ok {
			t.Fatal(err)
		}
	}
	if _, err := s.Link(ctx, "slow"); err != nil {
		t.Errorf("a question beside slow ones: %v", err)
	}
}

func testCancelled(t *testing.T, s stats.Store, _ Tables) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that it was cancelled", what, err)
		}
	}
	_, err := s.Link(ctx, "abc")
	want("Link", err)
	_, err = s.Ranked(ctx, []models.Key{key("s", "2018-10-01", "", "")}, models.DayViews, within("2018-10-01", "2018-10-02"))
	want("Ranked", err)
	_, err = s.Progress(ctx)
	want("Progress", err)
	var last error
	for _, err := range s.Points(ctx, models.LinkKey("abc"), models.DayCounters, stats.Range{}) {
		last = err
	}
	want("Points", last)
	last = nil
	for _, err := range s.Names(ctx, linkOn(at("2018-10-01"), ""), every) {
		last = err
	}
	want("Names", last)
}
