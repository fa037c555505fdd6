package rollup

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/store"
)

// One who retires is paused when it has read where the topic ends. A consumer gives the retirement up, visits beyond those ends are counted, and
// another one announces the same anew, perhaps for the topic's next generation. The old ends say nothing about what is announced then.
func TestTwoRetire(t *testing.T) {
	for _, then := range []string{"visits-g2", "visits"} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			r := &retirer{store: m, topic: "visits", report: t.Logf}
			another := &retirer{store: m, topic: then, report: t.Logf, margin: time.Second}
			another.ends = func(context.Context) (map[int]int64, error) { return map[int]int64{0: 1001}, nil }
			decided := make(chan error, 1)
			r.ends = func(ctx context.Context) (map[int]int64, error) {
				if ok, err := m.Withdraw(ctx, april); !ok || err != nil {
					t.Error(ok, err)
				}
				go func() {
					_, err := another.decide(t.Context(), april)
					decided <- err
				}()
				synctest.Wait() // until it is announced
				return map[int]int64{0: 1000}, nil
			}
			if it, err := r.decide(t.Context(), april); err == nil {
				t.Errorf("decided for %s: %+v", then, it)
			}
			if err := <-decided; err != nil {
				t.Error(then, err)
			}
			if got, err := r.find(t.Context(), april); err != nil || got.Topic != then || got.From[0] != 1001 {
				t.Errorf("decided: %+v, %v", got, err)
			}
		})
	}
}

// What is given up right after it was found is not announced again under its ID: whoever announced it could still decide.
func TestARetirementThatIsGivenUpWhenFound(t *testing.T) {
	m := newMemory()
	announced := store.Retirement{Before: april, Topic: "visits", ID: 5}
	if err := m.Announce(t.Context(), announced); err != nil {
		t.Fatal(err)
	}
	r := &retirer{store: givenUp{m}, topic: "visits", report: t.Logf}
	r.ends = func(context.Context) (map[int]int64, error) { return map[int]int64{0: 7}, nil }
	if it, err := r.decide(t.Context(), april); err == nil {
		t.Errorf("decided: %+v", it)
	}
	if ok, err := m.Decide(t.Context(), announced, map[int]int64{0: 6}); ok || err != nil {
		t.Errorf("decided by the first: %v, %v", ok, err)
	}
}

// givenUp is a store where a consumer gives a retirement up as soon as somebody has read of it.
type givenUp struct{ *memory }

func (g givenUp) Notices(ctx context.Context) (store.Notices, error) {
	n, err := g.memory.Notices(ctx)
	if err == nil {
		_, err = g.Withdraw(ctx, april)
	}
	return n, err
}
