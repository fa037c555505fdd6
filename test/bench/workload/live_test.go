package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"footfall/models"
)

func about(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: got %.3f, want about %.3f", what, got, want)
	}
}

// firsts is the share of the events that are the first of a visitor, within what was before and these.
func firsts(seen map[[2]uint32]bool, moments []Moment) float64 {
	n := 0
	for _, m := range moments {
		who := [2]uint32{m.Name, m.Visitor}
		if !seen[who] {
			n++
		}
		seen[who] = true
	}
	return float64(n) / float64(len(moments))
}

// TestLiveVisitsAreSteady: a step of a search lasts less than a sitting, so its first seconds must be like any other.
func TestLiveVisitsAreSteady(t *testing.T) {
	l, seen := NewLiveVisits(Seed), map[[2]uint32]bool{}
	firsts(seen, l.Adjust(200))
	for _, rate := range []float64{200, 400, 100, 200} {
		firsts(seen, l.Adjust(rate))
		for minute := range 3 {
			moments := l.Next(time.Minute)
			about(t, "events per second", float64(len(moments))/60, rate, 0.06)
			about(t, "share of first views", firsts(seen, moments), 0.1, 0.2)
			if !slices.IsSortedFunc(moments, func(a, b Moment) int { return int(a.Due - b.Due) }) || moments[len(moments)-1].Due > time.Minute {
				t.Errorf("minute %d at %.0f: the events are out of order", minute, rate)
			}
		}
	}
	if again := l.Adjust(400); len(again) > 2000 {
		t.Errorf("to go back to a rate takes %d events again", len(again))
	}
}

func TestLiveClicksAreSteady(t *testing.T) {
	l, seen := NewLiveClicks(Seed), map[[2]uint32]bool{}
	firsts(seen, l.Adjust(500))
	links := l.names
	moments := l.Next(time.Minute)
	about(t, "clicks per second", float64(len(moments))/60, 500, 0.03)
	about(t, "share of first clicks", firsts(seen, moments), 1./3, 0.05)
	about(t, "new links per click", float64(l.names-links)/float64(len(moments)), 1./newLink, 0.3)
	if len(l.Adjust(1000)) > 0 {
		t.Error("another rate wants more clicks before it")
	}
}

// TestLiveIsTheSameEachTime, and a body says what an event of the topic says.
func TestLiveIsTheSameEachTime(t *testing.T) {
	for name, newLive := range map[string]func() Live{
		"visits": func() Live { return NewLiveVisits(Seed) }, "clicks": func() Live { return NewLiveClicks(Seed) },
	} {
		a, b := newLive(), newLive()
		if !slices.Equal(a.Adjust(100), b.Adjust(100)) || !slices.Equal(a.Next(time.Minute), b.Next(time.Minute)) {
			t.Errorf("%s: two of the same seed differ", name)
		}
		m, at := a.Next(time.Minute)[0], time.UnixMilli(1_700_000_000_000)
		want := a.Event(m, "x", at)
		body := a.Body(nil, m)
		body = append(body[:len(body)-1], `,"id":"x","ts":1700000000000}`...)
		var got models.Event
		var err error
		if name == "clicks" {
			got, err = models.UnmarshalClick(body, false)
		} else {
			got, err = models.DefaultPlan().UnmarshalVisit(body, false)
		}
		if err != nil || string(Encode(got)) != string(Encode(want)) {
			t.Errorf("%s: a sender writes %s (%v), want %s", name, body, err, Encode(want))
		}
	}
}
