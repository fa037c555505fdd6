package maintenance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/internal/retry"
	"footfall/models"
	"footfall/models/modelstest"
)

var visits0 = models.Partition{Topic: "visits", Number: 0}

func TestRetireSaysWhatItWaitsFor(t *testing.T) {
	counted, force := int64(1), false
	f := func(group Counting, doubts []store.Doubt, a Audit, want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			m := memstore.New()
			m.OpenDoubts[visits0] = doubts
			visit := modelstest.VisitAt(time.March, 5)
			row := visit.Under(visit.TS.Month(), 0)
			m.Rows[row] = []models.First{{Day: visit.TS.Day(), Features: visit.Features, Of: models.Ways{1}}}
			key, cell := visit.Sightings()[0].Counted()
			m.Counters[key] = map[models.Cell]int64{cell: counted}
			var lines []string
			r := &Retirer{
				Store: m, Topic: "visits", Parts: 1, Force: force,
				Ends:  func(context.Context) (map[int]int64, error) { return map[int]int64{0: 10}, nil },
				Group: func(context.Context, string) (Counting, error) { return group, nil },
				Audit: func(ctx context.Context, _ string) (Audit, error) { // takes longer than it may wait
					return a, retry.Sleep(ctx, 2*time.Minute)
				},
				Report: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) },
			}
			err := r.Run(t.Context(), modelstest.April, time.Minute)
			printed := strings.Join(append(lines, fmt.Sprint(err)), "\n")
			if !strings.Contains(printed, want) {
				t.Errorf("printed\n%s\nwant %q", printed, want)
			}
			if _, kept := m.Rows[row]; kept != (err != nil) {
				t.Errorf("%v, and the row is kept: %v", err, kept)
			}
		})
	}
	all := map[int]int64{0: 10}
	f(Counting{Members: 1, To: all}, nil, Audit{}, "1 partitions of visitors removed")
	f(Counting{Members: 1, To: map[int]int64{0: 7}}, nil, Audit{}, "waiting: 3 visits are not counted yet")
	f(Counting{Members: 0, To: map[int]int64{0: 7}}, nil, Audit{}, "nobody counts: the group has no members, start a consumer")
	f(Counting{Members: 1, To: all}, []store.Doubt{{From: 9, To: 20}}, Audit{}, "waiting: 1 doubts about visits are open")
	f(Counting{Members: 1, To: all}, []store.Doubt{{From: 9, To: 20, Reason: store.DoubtUnsettled}}, Audit{Keys: 5, Unreadable: 1}, "1 stretches that the log no longer has")
	f(Counting{Members: 1, To: all}, []store.Doubt{{From: 10, To: 20}}, Audit{}, "removed") // that is about later visits
	f(Counting{Members: 1, To: all}, nil, Audit{Keys: 5, Off: 1}, "found 1 off")
	f(Counting{Members: 1, To: all}, nil, Audit{Keys: 5, Unreadable: 1}, "nothing is removed")
	counted = 0
	f(Counting{Members: 1, To: all}, nil, Audit{}, `cardinality "site" 1973-03 ["" ""] month_unique 1973-03-01T00:00Z: 1 visitors have rows, 0 are counted`)
	f(Counting{Members: 1, To: all}, nil, Audit{}, "1 counts are lower than the visitors that have rows, so nothing is removed")
	force = true
	f(Counting{Members: 1, To: all}, nil, Audit{}, "1 partitions of visitors removed")
	counted, force = 3, false
	f(Counting{Members: 1, To: all}, nil, Audit{}, "1 counts are higher than the visitors that have rows")
}

// timed is a store that knows when rows were first removed, and how long after the retirement was finished.
type timed struct {
	*memstore.Memory
	finished time.Time
	waited   time.Duration
}

func (s *timed) Finish(ctx context.Context, before models.Millis) error {
	s.finished = time.Now()
	return s.Memory.Finish(ctx, before)
}

func (s *timed) DropVisitors(ctx context.Context, part store.Part, before models.Millis, read func(int)) (store.Dropped, error) {
	s.waited = time.Since(s.finished)
	return s.Memory.DropVisitors(ctx, part, before, read)
}

// A consumer that has not yet read that a retirement is finished still decides by the rows: they stay until every one has.
func TestRetireRemovesNothingBeforeEveryConsumerKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &timed{Memory: memstore.New()}
		r := &Retirer{
			Store: s, Topic: "visits", Parts: 1, Margin: store.NoticeMargin, Report: t.Logf,
			Ends: func(context.Context) (map[int]int64, error) { return map[int]int64{0: 10}, nil },
			Group: func(context.Context, string) (Counting, error) {
				return Counting{Members: 1, To: map[int]int64{0: 10}}, nil
			},
			Audit: func(context.Context, string) (Audit, error) { return Audit{}, nil },
		}
		if err := r.Run(t.Context(), modelstest.April, time.Minute); err != nil || s.waited < store.NoticeMargin {
			t.Errorf("%v; rows were removed %v after the retirement was finished, want at least %v", err, s.waited, store.NoticeMargin)
		}
	})
}

func TestWhichAuditsAreClean(t *testing.T) {
	for a, want := range map[Audit]bool{
		{}: true, {Keys: 9, Off: 2, Repaired: 2}: true, {Keys: 9, Busy: 1}: true,
		{Off: 1}: false, {Off: 2, Repaired: 1}: false, {MismatchedTotals: 1}: false, {Unreadable: 1}: false,
	} {
		if a.Clean() != want {
			t.Errorf("%+v is clean: %v", a, a.Clean())
		}
	}
}

// An earlier run announced a retirement and died, and the topic has grown since. A consumer withdraws it only if an old visit comes, which
// may never happen: the next run has to announce it again by itself.
func TestRetireAnnouncedBeforeTheTopicGrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		_ = m.Announce(t.Context(), store.Retirement{Before: modelstest.April, Topic: "visits"})
		r := &Retirer{
			Store: m, Topic: "visits-g2", Parts: 1,
			Ends: func(context.Context) (map[int]int64, error) { return map[int]int64{0: 10, 1: 20}, nil },
			Group: func(context.Context, string) (Counting, error) {
				return Counting{Members: 1, To: map[int]int64{0: 10, 1: 20}}, nil
			},
			Audit:  func(context.Context, string) (Audit, error) { return Audit{}, nil },
			Report: t.Logf,
		}
		if err := r.Run(t.Context(), modelstest.April, time.Minute); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Find(t.Context(), modelstest.April); err != nil || got.Topic != "visits-g2" || got.From[1] != 20 || !got.Done {
			t.Errorf("retired: %+v, %v", got, err)
		}
	})
}
