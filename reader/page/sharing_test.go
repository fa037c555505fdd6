package page

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"footfall/reader/stats"
)

// reads is what takes a while to read: how often it was, so far.
type reads struct {
	n    int
	took time.Duration
	err  error
}

func (r *reads) read(ctx context.Context) (int, error) {
	select {
	case <-time.After(r.took):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if r.err == nil {
		r.n++
	}
	return r.n, r.err
}

func TestNobodyWaitsForWhatIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := &sharing[string, int]{pause: 10, grace: rankGrace}, &reads{took: 300 * time.Millisecond}
		f := func(after time.Duration, want int, waits time.Duration) {
			t.Helper()
			time.Sleep(after)
			began := time.Now()
			got, err := s.get(t.Context(), "x", r.read)
			if took := time.Since(began); err != nil || got != want || took != waits {
				t.Errorf("%d after %v, %v; want %d after %v", got, took, err, want, waits)
			}
		}
		f(0, 1, r.took)               // never read: kept for 3 s from when its reading began
		f(2*time.Second, 1, 0)        // young
		f(time.Second, 1, 0)          // read again behind
		f(299*time.Millisecond, 1, 0) // which is not over
		f(2*time.Millisecond, 2, 0)   // and now is
		f(2900*time.Millisecond, 2, 0)
		f(3*time.Second, 4, r.took) // nobody else has asked meanwhile: who asks alone waits
		r.took = 10 * time.Second
		for range 7 { // in the third second it is read again, which takes too long for anybody
			f(time.Second, 4, 0)
		}
		f(time.Second, 5, 5*time.Second)
	})
}

func TestThoseWhoWaitReadNothingThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := &sharing[string, int]{}, &reads{took: time.Second}
		gone, leave := context.WithTimeout(t.Context(), time.Second/2)
		defer leave()
		var all sync.WaitGroup
		all.Go(func() { // it is the one who reads, and does not wait for it
			if _, err := s.get(gone, "x", r.read); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 10 {
			all.Go(func() {
				if got, err := s.get(t.Context(), "x", r.read); got != 1 || err != nil {
					t.Error(got, err)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		r.err = errors.New("away")
		began := time.Now()
		for range 10 {
			all.Go(func() {
				if _, err := s.get(t.Context(), "x", r.read); !errors.Is(err, r.err) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != r.took {
			t.Errorf("ten waited %v for what fails within %v", took, r.took)
		}
	})
}

// However long a page takes to read and however many look, it is never older than a second and a half, or than reading it takes.
func TestHowOldASharedPageIs(t *testing.T) {
	for _, took := range []time.Duration{100 * time.Millisecond, 600 * time.Millisecond, 2 * time.Second, 4800 * time.Millisecond} {
		for _, every := range []time.Duration{40 * time.Millisecond, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(nil, Options{})
				read := func(context.Context) (*view, error) {
					began := time.Now()
					time.Sleep(took)
					return &view{Data: began}, nil
				}
				var all sync.WaitGroup
				for range 20 * time.Second / every {
					all.Go(func() {
						v, err := h.pages.get(t.Context(), samePage{}, read)
						if age := time.Since(v.Data.(time.Time)); err != nil || age > max(took, keptFor+pageGrace) {
							t.Errorf("asked every %v, a page that takes %v is %v old", every, took, age)
						}
					})
					time.Sleep(every)
				}
				all.Wait()
				time.Sleep(took) // until what is read behind is there
			})
		}
	}
}

func TestWhatFailedIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var caught []any
		s, r := &sharing[int, int]{grace: pageGrace, caught: func(p any) { caught = append(caught, p) }}, &reads{err: errors.New("away")}
		if _, err := s.get(t.Context(), 0, r.read); !errors.Is(err, r.err) {
			t.Error(err)
		}
		away := r.err
		r.err = nil
		if got, err := s.get(t.Context(), 0, r.read); got != 1 || err != nil {
			t.Error(got, err)
		}
		r.err = away
		behind := func(key, want int, read func(context.Context) (int, error)) {
			t.Helper()
			time.Sleep(keptFor - time.Millisecond)
			for range 2 { // while it is young, and a moment later
				if got, err := s.get(t.Context(), key, read); got != want || err != nil {
					t.Error(got, err)
				}
				time.Sleep(time.Millisecond)
			}
			synctest.Wait()
		}
		behind(0, 1, r.read)
		time.Sleep(keptFor)
		if _, err := s.get(t.Context(), 0, r.read); !errors.Is(err, r.err) {
			t.Errorf("%v, want what failed", err)
		}
		panics := func(context.Context) (int, error) { panic("a bug") }
		r.err = nil
		if got, err := s.get(t.Context(), 1, r.read); got != 2 || err != nil {
			t.Error(got, err)
		}
		behind(1, 2, panics) // the process goes on
		if len(caught) != 1 || caught[0] != "a bug" {
			t.Errorf("%v was told, want one panic", caught)
		}
		for i := range 3 * mostKept {
			s.of(i)
		}
		if len(s.entries) > mostKept {
			t.Errorf("%d are kept", len(s.entries))
		}
		time.Sleep(time.Minute)
		if s.of(-1); len(s.entries) != 1 {
			t.Errorf("%d are kept, of which one is of use", len(s.entries))
		}
	})
}

// ranks counts rankings of sites, which reach less far than the numbers beside them.
type ranks struct {
	counted
	n atomic.Int64
}

func (r *ranks) SiteTop(ctx context.Context, q stats.TopQuery) (stats.Top, error) {
	r.n.Add(1)
	top, err := r.counted.SiteTop(ctx, q)
	top.AsOf = stats.AsOf{Time: today.Add(-12 * time.Second), Counting: true}
	return top, err
}

// A hundred people who look at a site at once cost one ranking of each feature. The page says how far it reaches.
func TestManyWhoLookAtASiteShareItsRankings(t *testing.T) {
	from := &ranks{counted: reader(shared(t))}
	h := newHandler(from, Options{Now: func() time.Time { return today }})
	began := time.Now()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, text := get(t, h, "/sites/shop.example")
			if strings.Count(text, "Counted up to 14:03:18 UTC.") != 2 || !strings.Contains(text, `<time datetime="2026-11-18T14:03:22Z">`) {
				t.Errorf("rankings do not say how far they reach:\n%s", text)
			}
		})
	}
	all.Wait()
	if most := 2 * (1 + int64(time.Since(began)/keptFor)); from.n.Load() > most {
		t.Errorf("ranked %d times within %v", from.n.Load(), time.Since(began))
	}
	before := from.n.Load() // of a page that nobody had yet
	if get(t, h, "/sites/shop.example?referrer=google.com"); from.n.Load() == before {
		t.Error("a filter has the ranking without it")
	}
}
