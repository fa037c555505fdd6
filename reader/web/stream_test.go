package web

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"footfall/models"
	"footfall/reader/stats"
)

// many are n points.
func many(n int) func(func(stats.Point, error) bool) {
	return func(yield func(stats.Point, error) bool) {
		for i := range n {
			if !yield(stats.Point{Start: millis("2018-10-01") + models.Millis(i)*3_600_000, Count: int64(i)}, nil) {
				return
			}
		}
	}
}

const series = "/v1/stats/links/abc/series?by=hour"

func TestLargeAnswersAreStreamedWhole(t *testing.T) {
	f := newFake()
	f.points = many(100_000)
	s := newServer(t, f, open, nil)
	server := httptest.NewServer(s)
	defer server.Close()
	for _, encoding := range []string{"gzip", "identity"} {
		request, err := http.NewRequest(http.MethodGet, server.URL+series+"&format=csv", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		var body io.Reader = response.Body
		if encoding == "gzip" {
			if body, err = gzip.NewReader(response.Body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines != 100_001 || !strings.HasSuffix(string(text), ",99999\n") || response.Header.Get("Etag") != "" || response.ContentLength >= 0 {
			t.Errorf("%s: %d lines, %v, length %d", encoding, lines, response.Header, response.ContentLength)
		}
	}
	if got := testutil.ToFloat64(s.metrics.rows); got != 200_000 {
		t.Errorf("%v rows counted", got)
	}
	if status, _, body := raw(t, server.Listener.Addr().String(), "GET "+series+" HTTP/1.0\r\n\r\n"); status != 505 || !strings.Contains(body, needsHTTP11) {
		t.Errorf("HTTP/1.0 got a part as the whole: %d %.100s", status, body)
	}
	if w := send(s, http.MethodHead, series); w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
}

// TestAnAnswerThatIsCutDoesNotLookWhole: the store fails before and after the first piece is sent.
func TestAnAnswerThatIsCutDoesNotLookWhole(t *testing.T) {
	failing := func(after int) func(func(stats.Point, error) bool) {
		return func(yield func(stats.Point, error) bool) {
			for p := range many(after) {
				if !yield(p, nil) {
					return
				}
			}
			yield(stats.Point{}, errors.New("a node is down"))
		}
	}
	f := newFake()
	s := newServer(t, f, open, nil)
	server := httptest.NewServer(s)
	defer server.Close()
	for _, format := range []string{"json", "csv", "ndjson"} {
		for _, encoding := range []string{"gzip", ""} {
			f.points = failing(100)
			request, _ := http.NewRequest(http.MethodGet, server.URL+series+"&format="+format, nil)
			request.Header.Set("Accept-Encoding", encoding)
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			if got := reasonOf(t, response.Body); response.StatusCode != 503 || got != storeUnavailable || response.Header.Get("Retry-After") != "1" {
				t.Errorf("%s: a store that fails early: %d %s %v", format, response.StatusCode, got, response.Header)
			}
			_ = response.Body.Close()
			f.points = failing(50_000)
			if response, err = http.DefaultTransport.RoundTrip(request); err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, response.Body); err == nil {
				t.Errorf("%s %s: %d bytes, and no error: it looks whole", format, encoding, n)
			}
			_ = response.Body.Close()
		}
	}
	if got := testutil.ToFloat64(s.metrics.cut); got != 6 {
		t.Errorf("%v answers counted as cut, want 6", got)
	}
}

// TestAClientThatIsGoneCostsNothingMore: the store is told to stop, and the slot is free again.
func TestAClientThatIsGoneCostsNothingMore(t *testing.T) {
	for _, before := range []int{0, 50_000} { // while it waits for the first row, and in the midst of a stream
		ended, asked := make(chan error, 1), make(chan struct{})
		f := newFake()
		s := newServer(t, &blocking{fake: f, before: before, asked: asked, ended: ended}, open, func(c *Config) { c.MaxInFlight = 1; c.Timeout = time.Hour; c.StreamTimeout = time.Hour })
		server := httptest.NewServer(s)
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+series, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			response, err := http.DefaultClient.Do(request)
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		}()
		<-asked
		if w := get(s, "/v1/stats/links/abc"); w.Code != 503 || reasonOf(t, w.Body) != overloaded {
			t.Errorf("the second of one: %d", w.Code)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the store saw %v", err)
		}
		server.Close() // waits for the handler
		if w := get(s, "/v1/stats/links/abc"); w.Code != 200 {
			t.Errorf("the slot is not free: %d", w.Code)
		}
		if got := testutil.ToFloat64(s.metrics.requests.WithLabelValues("/v1/stats/links/{short_url}/series", strconv.Itoa(clientGone))); got != 1 {
			t.Errorf("%v requests counted as gone", got)
		}
	}
}

// blocking has some points, and then none until ctx ends.
type blocking struct {
	*fake
	before int
	asked  chan struct{}
	ended  chan error
}

func (b *blocking) LinkSeries(ctx context.Context, _ string, by stats.Unit, within stats.Range) (stats.Series, error) {
	return stats.Series{Unit: by, Within: within, Points: func(yield func(stats.Point, error) bool) {
		defer func() { b.ended <- context.Cause(ctx) }() // on a busy machine it may be told before it blocks
		for p := range many(b.before) {
			if !yield(p, nil) {
				return
			}
		}
		close(b.asked)
		<-ctx.Done()
		yield(stats.Point{}, ctx.Err())
	}}, nil
}

// TestSlowAnswersEnd: with a refusal if nothing is sent, else with a broken connection.
func TestSlowAnswersEnd(t *testing.T) {
	for before, want := range map[int]string{0: timedOut, 50_000: ""} {
		ended := make(chan error, 1)
		s := newServer(t, &blocking{fake: newFake(), before: before, asked: make(chan struct{}), ended: ended}, open, func(c *Config) { c.Timeout = time.Second })
		server := httptest.NewServer(s)
		response, err := http.Get(server.URL + series)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if got := reasonOf(t, strings.NewReader(string(body))); got != want || (err == nil) != (want != "") {
			t.Errorf("after %d rows: %d %q, %v", before, response.StatusCode, got, err)
		}
		if err := <-ended; !errors.Is(err, errTimeout) {
			t.Errorf("the store saw %v", err)
		}
		server.Close()
	}
}

func TestPanicsAreSurvived(t *testing.T) {
	f := newFake()
	s := newServer(t, f, open, nil)
	f.points = func(func(stats.Point, error) bool) { panic("a bug") }
	if w := get(s, series); w.Code != 500 || reasonOf(t, w.Body) != internal || testutil.ToFloat64(s.metrics.panics) != 1 {
		t.Errorf("%d", w.Code)
	}
}

// TestAClientThatDoesNotReadIsHungUpOn, although it is there: it must not hold its slot.
func TestAClientThatDoesNotReadIsHungUpOn(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.points = many(1 << 40)
	s := newServer(t, f, open, func(c *Config) { c.Timeout = 2 * time.Second }) // on a busy machine an answer may take long to begin
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET "+series+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	gone := s.metrics.requests.WithLabelValues("/v1/stats/links/{short_url}/series", strconv.Itoa(clientGone))
	for testutil.ToFloat64(gone) == 0 || testutil.ToFloat64(s.metrics.inFlight) > 0 {
		if time.Now().After(deadline) {
			t.Fatal("it still waits")
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
