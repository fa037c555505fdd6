package stats_test

import (
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// While a topic grows, producers write to the next generation, and consumers count it when all of the one before is counted. What is
// not known to be counted must not be claimed, whatever consumers have noted so far.
func TestAsOfWhileATopicGrows(t *testing.T) {
	now := time.Date(2018, 10, 1, 12, 0, 0, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	never := time.Time{}
	row := func(topic string, partition int, counted, end int64, event, at time.Time) stats.Progress {
		return stats.Progress{Partition: models.Partition{Topic: topic, Number: partition}, Counted: counted, LogEnd: end, EventTime: event, At: at}
	}
	old := func(rows ...stats.Progress) []stats.Progress { // and a second partition, of which all is counted
		return append(rows, row("visits", 1, 9, 9, ago(500), ago(2)))
	}
	for _, c := range []struct {
		what     string
		recorded map[string]int // partitions by topic; visits has 2
		rows     []stats.Progress
		want     stats.AsOf
	}{
		{"no next generation", nil, old(row("visits", 0, 5, 5, ago(9), ago(1))), stats.AsOf{Time: ago(2), Counting: true}},
		{"the next one is made, and no consumer knows of it yet", map[string]int{"visits-g2": 2},
			old(row("visits", 0, 5, 5, ago(9), ago(1))), stats.AsOf{}},
		{"one of its partitions is taken", map[string]int{"visits-g2": 2},
			old(row("visits", 0, 5, 5, ago(9), ago(1)), row("visits-g2", 0, 0, 0, never, ago(1))), stats.AsOf{}},
		{"all are taken, and nothing was written", map[string]int{"visits-g2": 2},
			old(row("visits", 0, 5, 5, ago(9), ago(1)), row("visits-g2", 0, 0, 0, never, ago(1)), row("visits-g2", 1, 0, 0, never, ago(3))),
			stats.AsOf{Time: ago(3), Counting: true}},
		{"what was written to it waits", map[string]int{"visits-g2": 1},
			old(row("visits", 0, 4, 5, ago(9), ago(1)), row("visits-g2", 0, 0, 8, never, ago(1))), stats.AsOf{Lag: 9, Counting: true}},
		{"its first offset is not 0", map[string]int{"visits-g2": 1},
			old(row("visits", 0, 4, 5, ago(300), ago(1)), row("visits-g2", 0, 7, 7, never, ago(1))), stats.AsOf{Time: ago(300), Lag: 1, Counting: true}},
		{"a partition of the old one has no consumer, which had counted all before", map[string]int{"visits-g2": 1},
			[]stats.Progress{row("visits", 0, 5, 5, ago(9), ago(1)), row("visits", 1, 9, 9, ago(500), ago(400)), row("visits-g2", 0, 0, 0, never, ago(1))},
			stats.AsOf{Time: ago(400)}},
		{"of a partition of the old one nobody ever told", map[string]int{"visits-g2": 1},
			[]stats.Progress{row("visits", 0, 5, 5, ago(9), ago(1)), row("visits-g2", 0, 0, 0, never, ago(1))}, stats.AsOf{}},
		{"some of it is counted, so all of the old one is", map[string]int{"visits-g2": 2},
			[]stats.Progress{row("visits", 0, 4, 5, ago(900), ago(800)), row("visits-g2", 0, 3, 3, ago(9), ago(1)), row("visits-g2", 1, 0, 0, never, ago(4))},
			stats.AsOf{Time: ago(4), Counting: true}},
		{"it grows again", map[string]int{"visits-g2": 1, "visits-g3": 1},
			[]stats.Progress{row("visits", 0, 4, 5, ago(900), ago(800)), row("visits-g2", 0, 3, 4, ago(20), ago(1)), row("visits-g3", 0, 0, 0, never, ago(1))},
			stats.AsOf{Time: ago(20), Lag: 1, Counting: true}},
		{"it grows again, and no consumer knows of it yet", map[string]int{"visits-g2": 1, "visits-g3": 1},
			[]stats.Progress{row("visits-g2", 0, 4, 4, ago(20), ago(1))}, stats.AsOf{}},
		{"of the one between nobody ever told", map[string]int{"visits-g2": 1, "visits-g3": 1},
			old(row("visits", 0, 5, 5, ago(9), ago(1)), row("visits-g3", 0, 0, 0, never, ago(1))), stats.AsOf{}},
	} {
		m := statstest.NewMemory(models.DefaultPlan())
		r := stats.New(m, "clicks", "visits")
		stats.SetClock(r, func() time.Time { return now })
		m.Split(t, "visits", 2)
		for topic, partitions := range c.recorded {
			m.Split(t, topic, partitions)
		}
		for _, p := range c.rows {
			m.Note(t, p)
		}
		if got, err := r.Sites(t.Context(), someDay, all); err != nil || got.AsOf != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.what, got.AsOf, err, c.want)
		}
	}
}

// That there is no next generation is asked once a second: more is not claimed than was known then.
func TestAsOfIsNoNewerThanWhatIsKnownOfTheTopic(t *testing.T) {
	m := statstest.NewMemory(models.DefaultPlan())
	r := stats.New(m, "clicks", "visits")
	began := time.Date(2018, 10, 1, 12, 0, 0, 0, time.UTC)
	now := began
	stats.SetClock(r, func() time.Time { return now })
	m.Split(t, "visits", 1)
	f := func(after time.Duration, want time.Time) {
		t.Helper()
		now = began.Add(after)
		m.Note(t, stats.Progress{Partition: models.Partition{Topic: "visits"}, Counted: 5, LogEnd: 5, EventTime: began, At: now})
		if got, err := r.Sites(t.Context(), someDay, all); err != nil || !got.AsOf.Time.Equal(want) {
			t.Errorf("after %v: %v, %v; want %v", after, got.AsOf.Time, err, want)
		}
	}
	f(0, began)
	f(900*time.Millisecond, began)
	m.Split(t, "visits-g2", 1)
	f(950*time.Millisecond, began)
	f(time.Second, time.Time{})
}
