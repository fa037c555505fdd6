package page

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// asks counts how often the busiest links are ranked.
type asks struct {
	counted
	n atomic.Int64
}

func (a *asks) BusiestLinks(ctx context.Context, day models.Millis, limit int, of []models.NameRange) (stats.Top, error) {
	a.n.Add(1)
	return a.counted.BusiestLinks(ctx, day, limit, of)
}

// A hundred people who open the first page at once cost one ranking for each key, not a hundred, and nobody sees another's.
func TestManyReadersOfTheFirstPageShareARanking(t *testing.T) {
	m := shared(t)
	from := &asks{counted: reader(m)}
	h := newHandler(from, Options{Now: func() time.Time { return today }, Allow: func(r *http.Request) (May, *Denied) {
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

// A share that lets nobody see anything makes no page of its own: whoever invents one each time gets the rankings that are there.
func TestAShareThatNobodyNeedsIsNotAnotherPage(t *testing.T) {
	from := &asks{counted: reader(shared(t))}
	h := newHandler(from, Options{Now: func() time.Time { return today }})
	began := time.Now()
	for i := range 20 {
		get(t, h, fmt.Sprintf("/?share=%d", i), "Authorization", fmt.Sprintf("Bearer %d", i))
		if _, text := get(t, h, fmt.Sprintf("/links/autumn-sale?share=%d", i)); strings.Contains(text, "share=") {
			t.Fatalf("the page is of one share: %s", text)
		}
	}
	if most := 1 + int64(time.Since(began)/keptFor); from.n.Load() > most || len(h.pages.entries) != 2 {
		t.Errorf("ranked %d times within %v, want %d at the most; %d pages are kept, of two", from.n.Load(), time.Since(began), most, len(h.pages.entries))
	}
}

// A ranking that was read a moment before midnight is not shown under the next day's heading.
func TestTheFirstPageAtMidnight(t *testing.T) {
	m := statstest.NewMemory(models.DefaultPlan())
	now := time.Date(2026, 11, 30, 23, 59, 59, 900e6, time.UTC)
	at := models.Millis(now.UnixMilli())
	m.Add(&models.Click{ShortURL: "novemberlink", IP: "203.0.113.7", TS: at}, &models.Visit{SiteID: "novembersite", GUID: "1", Features: []string{"a", "b"}, TS: at})
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(reader(m), Options{Now: func() time.Time { return now }})
		if _, text := get(t, h, "/"); !strings.Contains(text, "novemberlink") || !strings.Contains(text, "novembersite") {
			t.Errorf("before midnight: %s", text)
		}
		now = now.Add(200 * time.Millisecond)
		if _, text := get(t, h, "/"); strings.Contains(text, "november") || !strings.Contains(text, "Tuesday 1 December 2026") {
			t.Errorf("after midnight: %s", text)
		}
	})
}
