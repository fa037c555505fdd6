package page

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// asks counts how often the busiest links are ranked.
type asks struct {
	counted
	n atomic.Int64
}

func (a *asks) BusiestLinks(ctx context.Context, day models.Millis, limit int, may func(string) bool) (stats.Top, error) {
	a.n.Add(1)
	return a.counted.BusiestLinks(ctx, day, limit, may)
}

// A hundred people who open the first page at once cost one ranking for each key, not a hundred, and nobody sees another's.
func TestManyReadersOfTheFirstPageShareARanking(t *testing.T) {
	m := shared(t)
	from := &asks{counted: reader(m)}
	h := New(from, Options{Now: func() time.Time { return today }, Allow: func(r *http.Request) (May, error) {
		if r.Header.Get("Authorization") == "Bearer all" {
			return everything{}, nil
		}
		return only("shop.example"), nil
	}})
	began := time.Now()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			key := []string{"Bearer all", "Bearer shop"}[i%2]
			_, text := get(t, h, "/", "Authorization", key)
			if sees := strings.Contains(text, "autumn-sale"); sees != (i%2 == 0) {
				t.Errorf("%s sees the links: %v", key, sees)
			}
		})
	}
	all.Wait()
	if most := 1 + int64(time.Since(began)/keptFor); from.n.Load() > most {
		t.Errorf("ranked %d times within %v", from.n.Load(), time.Since(began))
	}
}
