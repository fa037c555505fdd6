package eventlog

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/internal/retry"
	"footfall/models"
	"footfall/models/modelstest"
)

// slowNotices answers the first question late, with what was true when it was asked.
type slowNotices struct {
	store.Store
	asked int
	now   store.Notices
}

func (s *slowNotices) Notices(ctx context.Context) (store.Notices, error) {
	s.asked++
	answer := s.now
	if s.asked == 1 {
		return answer, retry.Sleep(ctx, time.Second)
	}
	return answer, nil
}

// One goroutine has been told that a retirement is decided and lets a visit on to be refused; the late answer to another's
// question must not make it undecided again.
func TestAnOlderAnswerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &slowNotices{now: store.Notices{Retirements: []store.Retirement{{Before: 1}}}}
		b := NewRetirementWatcher(db, slog.New(slog.DiscardHandler))
		late := make(chan error)
		go func() { late <- b.Read(t.Context()) }()
		synctest.Wait()
		time.Sleep(time.Millisecond)
		db.now = store.Notices{Retirements: []store.Retirement{{Before: 1, From: map[int]int64{}}}}
		if err := b.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-late; err != nil {
			t.Fatal(err)
		}
		if !b.List()[0].Decided() {
			t.Error("what was decided is undecided again")
		}
	})
}

// A visit that a retirement speaks of is held until it is decided; if that never comes, the retirement is given up.
func TestVisitsAreHeldUntilTheRetirementIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		b := NewRetirementWatcher(m, slog.New(slog.NewTextHandler(io.Discard, nil)))
		took := func(e models.Event) time.Duration {
			started := time.Now()
			if err := b.Await(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			return time.Since(started)
		}
		march := modelstest.VisitAt(time.March, 5)
		if d := took(march); d != 0 {
			t.Errorf("held %v without a reason", d)
		}
		_ = m.Announce(t.Context(), store.Retirement{Before: modelstest.April, Topic: "visits"})
		if d := took(march); d != 0 {
			t.Errorf("held %v by a copy that is new enough", d)
		}
		time.Sleep(store.NoticeAge)
		if d := took(modelstest.VisitAt(time.April, 5)) + took(&models.Click{TS: march.TS}); d != 0 {
			t.Errorf("held %v though nobody speaks of it", d)
		}
		time.AfterFunc(5*time.Second, func() {
			_, _ = m.Decide(context.Background(), store.Retirement{Before: modelstest.April, Topic: "visits"}, map[int]int64{0: 7})
		})
		if d := took(march); d < 5*time.Second || d > 6*time.Second || b.List().Refuse(visits0, 7, march) == nil {
			t.Errorf("held %v, then %+v", d, b.List())
		}

		may := models.Millis(time.Date(1973, time.May, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		_ = m.Announce(t.Context(), store.Retirement{Before: may, Topic: "visits"})
		time.Sleep(store.NoticeAge)
		if d := took(march); d < holdPatience || d > 2*holdPatience || len(b.List()) != 1 {
			t.Errorf("held %v by a retirement that nobody decides; left: %+v", d, b.List())
		}
	})
}

var visits0 = models.Partition{Topic: "visits", Number: 0}
