package stats_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// notes is a store whose consumers have noted something else each time it is asked, until the last of them stays.
type notes struct {
	*statstest.Memory
	rows  [][]stats.Progress
	asked int
	tick  func()
}

func (n *notes) Progress(ctx context.Context) ([]stats.Progress, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.asked++
	n.tick()
	return n.rows[min(n.asked, len(n.rows))-1], nil
}

func TestBounds(t *testing.T) {
	noon := time.Date(2018, 10, 1, 12, 0, 0, 0, time.UTC)
	row := func(topic string, number int, counted, end int64, at float64) stats.Progress {
		p := stats.Progress{Partition: models.Partition{Topic: topic, Number: number}, Counted: counted, LogEnd: end, At: noon.Add(time.Duration(at * float64(time.Second)))}
		if counted > 0 {
			p.EventTime = noon.Add(-time.Hour)
		}
		return p
	}
	bound := func(topic string, number int, counted, below int64) stats.Bound {
		return stats.Bound{Partition: models.Partition{Topic: topic, Number: number}, CountedBefore: counted, Below: below}
	}
	grown := ""
	// The reading ends at noon. rows are what is noted before it (asked twice: for the bounds and for as_of), then after it.
	f := func(what string, asked int, before []stats.Progress, after [][]stats.Progress, want ...stats.Bound) {
		t.Helper()
		store := &notes{Memory: statstest.NewMemory(models.DefaultPlan()), rows: append([][]stats.Progress{before, before}, after...), tick: func() {}}
		store.Split(nil, "visits", 2)
		if grown == "before" {
			store.Split(nil, "visits-g2", 1)
		}
		r := stats.New(store, "clicks", "visits")
		now := noon
		stats.SetClock(r, func() time.Time { return now })
		m, err := r.SiteMonth(t.Context(), "s", on("2018-10"))
		if err != nil {
			t.Fatal(err)
		}
		if grown == "meanwhile" {
			store.Split(nil, "visits-g2", 1)
		}
		store.tick = func() { now = now.Add(2 * time.Second) }
		got, err := m.Reading.End(t.Context(), 4*time.Second, func() {})
		if err != nil || !reflect.DeepEqual(got, want) || store.asked-2 != asked {
			t.Errorf("%s: %+v after %d questions, %v; want %+v after %d", what, got, store.asked-2, err, want, asked)
		}
	}
	p := func(rows ...stats.Progress) []stats.Progress { return rows }
	f("nobody counts", 1, nil, [][]stats.Progress{nil}, bound("visits", 0, 0, -1), bound("visits", 1, 0, -1))
	f("nobody counts any more", 1, p(row("visits", 0, 5, 5, -60), row("visits", 1, 7, 9, -60)), [][]stats.Progress{p(row("visits", 0, 5, 5, -60), row("visits", 1, 7, 9, -60))},
		bound("visits", 0, 5, -1), bound("visits", 1, 7, -1))
	f("nothing came meanwhile", 2, p(row("visits", 0, 5, 5, -1), row("visits", 1, 7, 7, -1)),
		[][]stats.Progress{p(row("visits", 0, 5, 5, -1), row("visits", 1, 7, 7, -1)), p(row("visits", 0, 5, 5, 1.5), row("visits", 1, 7, 7, 1.5))},
		bound("visits", 0, 5, 5), bound("visits", 1, 7, 7))
	f("more was counted, and more waits", 2, p(row("visits", 0, 5, 6, -1), row("visits", 1, 7, 7, -1)),
		[][]stats.Progress{p(row("visits", 0, 6, 8, 0.5), row("visits", 1, 7, 7, 0.5)), p(row("visits", 0, 8, 11, 1.5), row("visits", 1, 7, 7, 1.5))},
		bound("visits", 0, 5, 11), bound("visits", 1, 7, 7))
	f("a note of the moment of the last count may be of a clock that is ahead", 2, p(row("visits", 0, 5, 5, -1), row("visits", 1, 7, 7, -1)),
		[][]stats.Progress{p(row("visits", 0, 5, 5, 1), row("visits", 1, 7, 7, 1)), p(row("visits", 0, 5, 5, 1), row("visits", 1, 7, 7, 1))},
		bound("visits", 0, 5, -1), bound("visits", 1, 7, -1))
	f("a clock that is seen to be an hour ahead", 2, p(row("visits", 0, 5, 5, 3599), row("visits", 1, 7, 7, 3599)),
		[][]stats.Progress{p(row("visits", 0, 5, 5, 3600), row("visits", 1, 7, 7, 3600)), p(row("visits", 0, 5, 5, 3602), row("visits", 1, 7, 8, 3600))},
		bound("visits", 0, 5, 5), bound("visits", 1, 7, -1))
	f("a partition without a note", 1, p(row("visits", 1, 7, 7, -1)), [][]stats.Progress{p(row("visits", 1, 7, 7, 1.5))},
		bound("visits", 0, 0, -1), bound("visits", 1, 7, 7))
	grown = "before"
	f("a generation that is counted whole", 1, p(row("visits", 0, 5, 5, -900), row("visits", 1, 7, 7, -900), row("visits-g2", 0, 3, 3, -1)),
		[][]stats.Progress{p(row("visits", 0, 5, 5, -900), row("visits", 1, 7, 7, -900), row("visits-g2", 0, 3, 4, 1.5))}, bound("visits-g2", 0, 3, 4))
	grown = "meanwhile"
	f("a generation that begins meanwhile", 1, p(row("visits", 0, 5, 6, -1), row("visits", 1, 7, 7, -1)),
		[][]stats.Progress{p(row("visits", 0, 6, 6, 1.5), row("visits", 1, 7, 7, 1.5), row("visits-g2", 0, 2, 3, 1.5), row("clicks", 0, 99, 99, 1.5))},
		bound("visits", 0, 5, 6), bound("visits", 1, 7, 7), bound("visits-g2", 0, 0, 3))
	f("a generation that is made meanwhile, and has no note yet", 1, p(row("visits", 0, 5, 6, -1), row("visits", 1, 7, 7, -1)),
		[][]stats.Progress{p(row("visits", 0, 6, 6, 1.5), row("visits", 1, 7, 7, 1.5))}, bound("visits", 0, 5, 6), bound("visits", 1, 7, 7), bound("visits-g2", 0, 0, -1))
	grown = "before"
	f("a generation that waits", 1, p(row("visits", 0, 5, 6, -1), row("visits", 1, 7, 7, -1), row("visits-g2", 0, 0, 3, -1)),
		[][]stats.Progress{p(row("visits", 0, 6, 6, 1.5), row("visits", 1, 7, 7, 1.5), row("visits-g2", 0, 0, 3, 1.5))},
		bound("visits", 0, 5, 6), bound("visits", 1, 7, 7), bound("visits-g2", 0, 0, 3))
}

func TestBoundsEndWithTheQuestion(t *testing.T) {
	store := statstest.NewMemory(models.DefaultPlan())
	store.NoteNow("visits", 5)
	r := stats.New(store, "clicks", "visits")
	m, err := r.SiteMonth(t.Context(), "s", on("2018-10"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client is gone")
	if _, err := m.Reading.End(ctx, time.Hour, func() { cancel(gone) }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	want := []stats.Bound{{Partition: models.Partition{Topic: "visits"}, CountedBefore: 5, Below: 5}}
	if got := m.Reading.EndOfNothing(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
