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

// slowNotices answers the first request late, with what was true when it came.
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

// A goroutine that learned that a retirement is decided lets a visit pass to be refused. A late answer to another goroutine's earlier
// request must not replace the newer copy.
func TestWatcherIgnoresAnAnswerToAnEarlierRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &slowNotices{now: store.Notices{Retirements: []store.Retirement{{Before: 1}}}}
		w := NewRetirementWatcher(db, slog.New(slog.DiscardHandler))
		late := make(chan error)
		go func() { late <- w.Read(t.Context()) }()
		synctest.Wait()
		time.Sleep(time.Millisecond)
		db.now = store.Notices{Retirements: []store.Retirement{{Before: 1, From: map[int]int64{}}}}
		if err := w.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-late; err != nil {
			t.Fatal(err)
		}
		if !w.List()[0].Decided() {
			t.Error("the older answer replaced the newer one: the retirement is undecided again")
		}
	})
}

// A visit that an announced retirement may refuse is held until the retirement is decided. One that is never decided is withdrawn.
func TestWatcherHoldsVisitsUntilTheRetirementIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		w := NewRetirementWatcher(m, slog.New(slog.NewTextHandler(io.Discard, nil)))
		took := func(e models.Event) time.Duration {
			started := time.Now()
			if err := w.Await(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			return time.Since(started)
		}
		march := modelstest.VisitAt(time.March, 5)
		if d := took(march); d != 0 {
			t.Errorf("held %v, but no retirement was announced", d)
		}
		_ = m.Announce(t.Context(), store.Retirement{Before: modelstest.April, Topic: "visits"})
		if d := took(march); d != 0 {
			t.Errorf("held %v, but the copy is still fresh", d)
		}
		time.Sleep(store.NoticeAge)
		if d := took(modelstest.VisitAt(time.April, 5)) + took(&models.Click{TS: march.TS}); d != 0 {
			t.Errorf("held %v, but the retirement is not about these events", d)
		}
		time.AfterFunc(5*time.Second, func() {
			_, _ = m.Decide(context.Background(), store.Retirement{Before: modelstest.April, Topic: "visits"}, map[int]int64{0: 7})
		})
		if d := took(march); d < 5*time.Second || d > 6*time.Second || w.List().Refuse(visits0, 7, march) == nil {
			t.Errorf("held %v, then %+v", d, w.List())
		}

		may := models.Millis(time.Date(1973, time.May, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		_ = m.Announce(t.Context(), store.Retirement{Before: may, Topic: "visits"})
		time.Sleep(store.NoticeAge)
		if d := took(march); d < holdPatience || d > 2*holdPatience || len(w.List()) != 1 {
			t.Errorf("held %v by a retirement that is never decided; left: %+v", d, w.List())
		}
	})
}

var visits0 = models.Partition{Topic: "visits", Number: 0}
