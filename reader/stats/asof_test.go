package stats

import (
	"testing"
	"time"

	"footfall/models"
)

func TestHowFarTheCountsReach(t *testing.T) {
	now := time.Date(2018, 10, 1, 12, 0, 0, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	row := func(topic string, partition int, counted, end int64, event, at time.Time) Progress {
		return Progress{models.Partition{Topic: topic, Number: partition}, counted, end, event, at}
	}
	for _, c := range []struct {
		what string
		rows []Progress
		want AsOf
	}{
		{"nobody has counted", nil, AsOf{}},
		{"rows of another topic", []Progress{row("clicks", 0, 5, 5, ago(9), ago(1))}, AsOf{}},
		{"a topic whose name begins alike", []Progress{row("visits-old", 0, 5, 5, ago(9), ago(1)), row("visits-g1", 0, 5, 5, ago(9), ago(1))}, AsOf{}},
		{"all is counted", []Progress{row("visits", 0, 5, 5, ago(900), ago(2)), row("visits", 1, 8, 8, ago(9), ago(1))}, AsOf{Time: ago(2), Counting: true}},
		{"one partition lags", []Progress{row("visits", 0, 5, 5, ago(900), ago(2)), row("visits", 1, 8, 18, ago(40), ago(1))}, AsOf{Time: ago(40), Lag: 10, Counting: true}},
		{"two lag", []Progress{row("visits", 0, 5, 6, ago(60), ago(2)), row("visits", 1, 8, 18, ago(40), ago(1))}, AsOf{Time: ago(60), Lag: 11, Counting: true}},
		{"a producer's clock is ahead", []Progress{row("visits", 0, 5, 6, ago(-3600), ago(2))}, AsOf{Time: ago(2), Lag: 1, Counting: true}},
		{"one has counted nothing yet", []Progress{row("visits", 0, 0, 6, time.Time{}, ago(2)), row("visits", 1, 8, 8, ago(40), ago(1))}, AsOf{Lag: 6, Counting: true}},
		{"nothing was ever sent", []Progress{row("visits", 0, 0, 0, time.Time{}, ago(2))}, AsOf{Time: ago(2), Counting: true}},
		{"one is silent", []Progress{row("visits", 0, 5, 5, ago(900), ago(15)), row("visits", 1, 8, 8, ago(9), ago(1))}, AsOf{Time: ago(15)}},
		{"the end was seen before the last event was counted", []Progress{row("visits", 0, 7, 5, ago(9), ago(1))}, AsOf{Time: ago(1), Counting: true}},
		{"an old generation is forgotten", []Progress{row("visits", 0, 4, 5, ago(9000), ago(8000)), row("visits-g2", 0, 3, 3, ago(9), ago(1))},
			AsOf{Time: ago(1), Counting: true}},
		{"the tenth generation is newer than the ninth", []Progress{row("visits-g9", 0, 4, 5, ago(9000), ago(8000)), row("visits-g10", 0, 3, 4, ago(9), ago(1))},
			AsOf{Time: ago(9), Lag: 1, Counting: true}},
		{"a new generation waits for the old one", []Progress{row("visits", 0, 4, 9, ago(300), ago(1)), row("visits", 1, 9, 9, ago(500), ago(4)), row("visits-g2", 0, 0, 0, time.Time{}, ago(1))},
			AsOf{Time: ago(300), Lag: 5, Counting: true}},
	} {
		if got := reach(relevant(c.rows, "visits"), now); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

func TestTwoAnswersReachAsFarAsTheOneBehind(t *testing.T) {
	now := time.Date(2018, 10, 1, 12, 0, 0, 0, time.UTC)
	ahead, behind := AsOf{Time: now, Counting: true, Doubts: 1}, AsOf{Time: now.Add(-time.Hour), Lag: 7, Doubts: 2}
	want := AsOf{Time: behind.Time, Lag: 7, Doubts: 3}
	if got := ahead.With(behind); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := behind.With(ahead); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ahead.With(AsOf{}); !got.Time.IsZero() || got.Counting {
		t.Errorf("%+v, want that it is not known", got)
	}
}
