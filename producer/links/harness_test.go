package links

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"footfall/models"
	"footfall/producer/answer"
	"footfall/producer/enrich"
)

// memory is a store in memory that a test can make fail.
type memory struct {
	mu     sync.Mutex
	links  map[string]string
	asked  map[string]int
	broken bool
	panics bool
	gate   chan struct{} // if not nil, Target waits for it
}

func newMemory() *memory { return &memory{links: map[string]string{}, asked: map[string]int{}} }

func (m *memory) Create(_ context.Context, short, long string, _ time.Time) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return "", false, errors.New("broken")
	}
	if existing, ok := m.links[short]; ok {
		return existing, false, nil
	}
	m.links[short] = long
	return "", true, nil
}

func (m *memory) Target(_ context.Context, short string) (string, bool, error) {
	m.mu.Lock()
	m.asked[short]++
	gate := m.gate
	m.mu.Unlock()
	if gate != nil {
		<-gate
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panics {
		panic("a store with a mistake in it")
	}
	if m.broken {
		return "", false, errors.New("broken")
	}
	long, ok := m.links[short]
	return long, ok, nil
}

func (m *memory) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *memory) asks(short string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[short]
}

// topic stands in for Kafka, which may be away or slow.
type topic struct {
	mu      sync.Mutex
	clicks  []models.Click
	away    bool
	panics  bool
	blocked chan struct{} // if not nil, publishing waits for it or for the context
}

func (k *topic) publish(ctx context.Context, c *models.Click) error {
	k.mu.Lock()
	blocked := k.blocked
	k.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.panics {
		panic("a publisher with a mistake in it")
	}
	if k.away {
		return errors.New("away")
	}
	k.clicks = append(k.clicks, *c)
	return nil
}

func (k *topic) set(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

type fixture struct {
	*Handler
	store *memory
	kafka *topic
}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	about, err := enrich.New(enrich.Options{TrustedProxies: []string{"10.0.0.0/8"}, CountryHeader: "CF-IPCountry"})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{store: newMemory(), kafka: &topic{}}
	o := Options{
		Store: f.store, Publish: f.kafka.publish, Enrich: about, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Cache: 100, NegativeTTL: time.Minute, Queue: 100,
		Allow: func(*http.Request, string) error { return nil }, Begin: func(*http.Request) (string, error) { return "", nil },
		Judge: func(*models.Click, netip.Addr) {}, Panicked: func() {},
	}
	if change != nil {
		change(&o)
	}
	if f.Handler, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.close(t, 0) })
	return f
}

// close drains the queue, for at most so long.
func (f *fixture) close(t *testing.T, patience time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f.Close(ctx)
}

func (f *fixture) dropped(reason string) float64 {
	return testutil.ToFloat64(f.queue.dropped.WithLabelValues(reason))
}

// follow requests a path as a browser would.
func (f *fixture) follow(method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://sho.rt"+path, nil)
	r.RemoteAddr = "203.0.113.7:1234"
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.refuse(w, f.Redirect(w, r))
	return w
}

// followFrom is follow for a client at that address.
func (f *fixture) followFrom(ip, path string) {
	r := httptest.NewRequest(http.MethodGet, "http://sho.rt"+path, nil)
	r.RemoteAddr = net.JoinHostPort(ip, "1234")
	_ = f.Redirect(httptest.NewRecorder(), r)
}

// post requests a new link.
func (f *fixture) post(body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://sho.rt/v1/links", io.NopCloser(strings.NewReader(body)))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.refuse(w, f.Create(w, r))
	return w
}

// refuse answers with an error, as the server does.
func (f *fixture) refuse(w http.ResponseWriter, err error) {
	if err != nil {
		answer.Refuse(w, answer.Of(err), "")
	}
}
