package web

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"footfall/models"
	"footfall/reader/access"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// failing is a reader of which one question goes wrong.
type failing struct {
	*stats.Reader
	link func(context.Context) error
}

func (f failing) Link(ctx context.Context, _ string) (stats.Link, error) {
	return stats.Link{}, f.link(ctx)
}

// TestRefusedPages: whoever asks for a page is refused with a page, also before there is one, and it is counted as any other refusal.
func TestRefusedPages(t *testing.T) {
	from := failing{Reader: stats.New(statstest.NewMemory(models.DefaultPlan()), "clicks", "visits")}
	f := func(path string, status int, reason, want string, adjust func(*Config), link func(context.Context) error) {
		t.Helper()
		from.link = link
		s := newServer(t, from, open, adjust)
		for reason == overloaded && s.places.Take("192.0.2.1/32", 1) { // that of httptest
		}
		w := get(s, path)
		text := w.Body.String()
		if w.Code != status || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(text, want) || !strings.Contains(text, "To the first page") {
			t.Errorf("%s, %s: %d %v %s", path, reason, w.Code, w.Header(), text)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "style-src 'self'") || (w.Header().Get("Retry-After") != "") != (status == 503) {
			t.Errorf("%s, %s: %v", path, reason, w.Header())
		}
		if n := testutil.ToFloat64(s.metrics.refused.WithLabelValues(reason)); n != 1 {
			t.Errorf("%s: %s is counted %v times", path, reason, n)
		}
	}
	f("/", 503, overloaded, "cannot be read right now", nil, nil)
	f("/links/abc?part=live", 503, overloaded, "cannot be read right now", nil, nil)
	f("/", 421, wrongHost, "as 127.0.0.1 or localhost", func(c *Config) { c.Hosts = []string{"stats.example"} }, nil)
	f("/links/abc", 500, internal, "cannot be shown", nil, func(context.Context) error { panic("on purpose") })
	f("/links/abc", 503, storeUnavailable, "does not answer", nil, func(context.Context) error { return errors.New("away") })
	f("/links/abc", 503, timedOut, "took too long", func(c *Config) { c.Timeout = time.Millisecond }, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	f("/sites/abc?nonsense=1", 400, "unknown_parameter", "nonsense is no parameter", nil, nil)
	f("/sites/abc?period=soon", 400, "bad_period", "Use a month", nil, nil)
	if w := get(newServer(t, newFake(), open, func(c *Config) { c.Hosts = []string{"stats.example"} }), "/v1/stats/links/abc"); reasonOf(t, w.Body) != wrongHost {
		t.Error("what is no page is refused with JSON")
	}
}

// TestPagesAndTheAPIDenyAlike: the same credentials get the same status.
func TestPagesAndTheAPIDenyAlike(t *testing.T) {
	s := newServer(t, stats.New(statstest.NewMemory(models.DefaultPlan()), "clicks", "visits"), guardedAccess, nil)
	signed, err := s.cfg.Access.Sign(access.Share{Link: "promo", Until: now.Add(-time.Minute)}, now)
	if err != nil {
		t.Fatal(err)
	}
	f := func(query string, status int, reason string, headers ...string) {
		t.Helper()
		page, api := get(s, "/links/other"+query, headers...), get(s, "/v1/stats/links/other"+query, headers...)
		if page.Code != status || api.Code != status || page.Header().Get("WWW-Authenticate") != api.Header().Get("WWW-Authenticate") || !strings.Contains(page.Body.String(), `id="signin"`) {
			t.Errorf("%s %q: the page is %d %v, the API %d %v, want %d", query, headers, page.Code, page.Header(), api.Code, api.Header(), status)
		}
		if n := testutil.ToFloat64(s.metrics.refused.WithLabelValues(reason)); n != 2 {
			t.Errorf("%s is counted %v times", reason, n)
		}
		s.metrics.refused.Reset()
	}
	f("", 401, access.MissingKey)
	f("", 401, access.MissingKey, "Authorization: Basic eDp5")
	f("", 403, access.WrongKey, "Authorization: Bearer nobody")
	f("", 403, access.WrongKey, "Authorization: Bearer shops")
	f("?share=forged", 403, access.BadShare)
	f("?share="+signed, 403, access.ShareExpired)
}

// TestWhoMayNotTakesNoPlace: while all places are taken, only those who may read are told that the reader is busy.
func TestWhoMayNotTakesNoPlace(t *testing.T) {
	s := newServer(t, stats.New(statstest.NewMemory(models.DefaultPlan()), "clicks", "visits"), guardedAccess, nil)
	for s.places.Take("shops", 1) || s.places.Take("", 1) {
	}
	f := func(path string, status int, headers ...string) {
		t.Helper()
		if w := get(s, path, headers...); w.Code != status {
			t.Errorf("%.50s %q: %d, want %d", path, headers, w.Code, status)
		}
	}
	f("/", 401)
	f("/links/shop-1", 401)
	f("/sites/shop", 403, "Authorization: Bearer nobody")
	f("/nowhere", 404)
	f("/find?q=shop", 303)
	f("/find?q="+strings.Repeat("x", models.MaxShortURL+1), 400)
	f("/find?kind=site&q="+strings.Repeat("x", models.MaxSiteID+1), 400)
	f("/", 503, "Authorization: Bearer shops")
}

// TestAPanicThatNobodyWaitsForIsCounted: of many who look at a page, all get the one before while it is read again, and that read panics.
func TestAPanicThatNobodyWaitsForIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		s := newServer(t, failing{Reader: stats.New(statstest.NewMemory(models.DefaultPlan()), "clicks", "visits"), link: func(context.Context) error {
			if broken.Load() {
				panic("on purpose")
			}
			return nil
		}}, open, nil)
		for range 3 { // the third finds what is old, and that others ask
			if w := get(s, "/links/abc"); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			broken.Store(true)
			time.Sleep(300 * time.Millisecond)
		}
		synctest.Wait()
		if n := testutil.ToFloat64(s.metrics.panics); n != 1 {
			t.Errorf("%v panics are counted, want 1", n)
		}
	})
}
