package cassandra

import (
	"maps"
	"testing"
	"time"

	"footfall/consumer/rollup"
	"footfall/models"
)

// testNotices: a retirement goes from announced to decided to done, and never back; who is forgotten is told to all.
func testNotices(t *testing.T, s *Store) {
	ctx := t.Context()
	before := models.Millis(time.Date(2018, 11, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	want := func(text string, want ...rollup.Retirement) rollup.Notices {
		t.Helper()
		n, err := s.Notices(ctx)
		if err != nil {
			t.Fatal(err)
		}
		same := len(n.Retirements) == len(want)
		for i := 0; same && i < len(want); i++ {
			got := n.Retirements[i]
			same = got.Before == want[i].Before && got.Topic == want[i].Topic && maps.Equal(got.From, want[i].From) &&
				(got.From == nil) == (want[i].From == nil) && got.Done == want[i].Done
		}
		if !same {
			t.Errorf("%s: %+v, want %+v", text, n.Retirements, want)
		}
		return n
	}
	ok := func(text string, want bool, got bool, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want("nothing was said")
	if s.Finish(ctx, before) == nil {
		t.Error("finished what was never announced")
	}
	got, err := s.Decide(ctx, before, map[int]int64{0: 1})
	ok("decided what was never announced", false, got, err)
	must(s.Announce(ctx, before, "visits"))
	want("announced", rollup.Retirement{Before: before, Topic: "visits"})
	got, err = s.Withdraw(ctx, before)
	ok("withdrawn", true, got, err)
	want("withdrawn")
	must(s.Announce(ctx, before, "visits"))
	must(s.Announce(ctx, before, "other"))
	if s.Finish(ctx, before) == nil {
		t.Error("finished what was not decided")
	}
	got, err = s.Decide(ctx, before, map[int]int64{0: 7, 1: 0})
	ok("decided", true, got, err)
	decided := rollup.Retirement{Before: before, Topic: "visits", From: map[int]int64{0: 7, 1: 0}}
	got, err = s.Decide(ctx, before, map[int]int64{0: 8, 1: 1})
	ok("decided twice", false, got, err)
	got, err = s.Withdraw(ctx, before)
	ok("withdrawn too late", false, got, err)
	must(s.Announce(ctx, before, "visits"))
	first := want("decided", decided)
	must(s.Finish(ctx, before))
	must(s.Finish(ctx, before))
	decided.Done = true
	want("done", decided)

	if _, err := s.Forget(ctx, []string{"nobody"}, []string{"203.0.113.250"}, func(Forgotten) {}); err != nil {
		t.Fatal(err)
	}
	if second := want("forgotten", decided); second.Forgotten == first.Forgotten || second.Forgotten == "" {
		t.Errorf("forgotten was %q and is %q", first.Forgotten, second.Forgotten)
	}
}
