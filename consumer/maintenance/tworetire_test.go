package maintenance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models/modelstest"
)

// One consumer retire is paused after it has read where the topic ends. A consumer withdraws the retirement, and visits beyond those ends are
// counted. Another retire announces the same again, perhaps for the topic's next generation. The first must not decide it with its old ends.
func TestRetireOfTwoAtOnce(t *testing.T) {
	for _, then := range []string{"visits-g2", "visits"} {
		synctest.Test(t, func(t *testing.T) {
			m := memstore.New()
			r := &Retirer{Store: m, Topic: "visits", Report: t.Logf}
			another := &Retirer{Store: m, Topic: then, Report: t.Logf, Margin: time.Second}
			another.Ends = func(context.Context) (map[int]int64, error) { return map[int]int64{0: 1001}, nil }
			decided := make(chan error, 1)
			r.Ends = func(ctx context.Context) (map[int]int64, error) {
				if ok, err := m.Withdraw(ctx, modelstest.April); !ok || err != nil {
					t.Error(ok, err)
				}
				go func() {
					_, err := another.decide(t.Context(), modelstest.April)
					decided <- err
				}()
				synctest.Wait() // until it is announced
				return map[int]int64{0: 1000}, nil
			}
			if it, err := r.decide(t.Context(), modelstest.April); err == nil {
				t.Errorf("decided for %s: %+v", then, it)
			}
			if err := <-decided; err != nil {
				t.Error(then, err)
			}
			if got, err := r.Find(t.Context(), modelstest.April); err != nil || got.Topic != then || got.From[0] != 1001 {
				t.Errorf("decided: %+v, %v", got, err)
			}
		})
	}
}

// A retirement that is withdrawn right after it was found is not announced again with its ID: the run that announced it first could still
// decide it.
func TestRetireWithdrawnWhenFound(t *testing.T) {
	m := memstore.New()
	announced := store.Retirement{Before: modelstest.April, Topic: "visits", ID: 5}
	if err := m.Announce(t.Context(), announced); err != nil {
		t.Fatal(err)
	}
	r := &Retirer{Store: givenUp{m}, Topic: "visits", Report: t.Logf}
	r.Ends = func(context.Context) (map[int]int64, error) { return map[int]int64{0: 7}, nil }
	if it, err := r.decide(t.Context(), modelstest.April); err == nil {
		t.Errorf("decided: %+v", it)
	}
	if ok, err := m.Decide(t.Context(), announced, map[int]int64{0: 6}); ok || err != nil {
		t.Errorf("decided by the first: %v, %v", ok, err)
	}
}

// givenUp is a store where a consumer withdraws a retirement as soon as it is read.
type givenUp struct{ *memstore.Memory }

func (g givenUp) Notices(ctx context.Context) (store.Notices, error) {
	n, err := g.Memory.Notices(ctx)
	if err == nil {
		_, err = g.Withdraw(ctx, modelstest.April)
	}
	return n, err
}
