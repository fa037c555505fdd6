package rollup

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/store"
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
		return answer, sleep(ctx, time.Second)
	}
	return answer, nil
}

// One goroutine has been told that a retirement is decided and lets a visit on to be refused; the late answer to another's
// question must not make it undecided again.
func TestAnOlderAnswerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &slowNotices{now: store.Notices{Retirements: []store.Retirement{{Before: 1}}}}
		b := newBoard(db, slog.New(slog.DiscardHandler))
		late := make(chan error)
		go func() { late <- b.look(t.Context()) }()
		synctest.Wait()
		time.Sleep(time.Millisecond)
		db.now = store.Notices{Retirements: []store.Retirement{{Before: 1, From: map[int]int64{}}}}
		if err := b.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-late; err != nil {
			t.Fatal(err)
		}
		if !b.list()[0].Decided() {
			t.Error("what was decided is undecided again")
		}
	})
}
