package links

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/producer/enrich"
)

// TestKafkaAway: without Kafka redirects are still answered at once. Clicks wait in the queue; those that do not fit are dropped and
// counted. None of the others is lost or written twice.
func TestKafkaAway(t *testing.T) {
	const room, sent = 10, 200
	f := newFixture(t, func(o *Options) { o.Queue = room })
	f.store.links["abc"] = "https://a.example/"
	f.kafka.away = true
	for range sent {
		if w := f.follow(http.MethodGet, "/abc"); w.Code != http.StatusFound {
			t.Fatalf("%d", w.Code)
		}
	}
	full := f.dropped("queue_full")
	if full < sent-room-workers || full > sent-room {
		t.Errorf("%v dropped of %d, with room for %d and %d workers", full, sent, room, workers)
	}
	f.kafka.set(func() { f.kafka.away = false })
	f.close(t, time.Minute)
	ids := map[string]bool{}
	for _, c := range f.kafka.clicks {
		ids[c.ID] = true
	}
	if got := float64(len(ids)); got != float64(len(f.kafka.clicks)) || got+full != sent || f.dropped("closing") != 0 {
		t.Errorf("%d clicks in Kafka under %d ids, %v dropped, %v at the end, of %d", len(f.kafka.clicks), len(ids), full, f.dropped("closing"), sent)
	}
}

// TestAFloodDropsItsOwn: if one client follows links faster than Kafka takes clicks, only its own clicks are dropped.
func TestAFloodDropsItsOwn(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Queue = 100 })
	f.store.links["abc"] = "https://a.example/"
	f.kafka.set(func() { f.kafka.blocked = make(chan struct{}) })
	for range 1000 {
		f.followFrom("203.0.113.7", "/abc")
	}
	if f.dropped("queue_full") < 500 {
		t.Fatalf("%v dropped: there is no flood", f.dropped("queue_full"))
	}
	for n := range 20 {
		f.followFrom(fmt.Sprintf("198.51.100.%d", n), "/abc")
		f.followFrom(fmt.Sprintf("2001:db8:1:%d::1", n), "/abc") // all one client
	}
	f.kafka.set(func() { close(f.kafka.blocked) })
	f.close(t, time.Minute)
	others, wide := 0, 0
	for _, c := range f.kafka.clicks {
		if strings.HasPrefix(c.IP, "198.51.100.") {
			others++
		}
		if strings.HasPrefix(c.IP, "2001:db8:1:") {
			wide++
		}
	}
	if others != 20 || wide == 0 || wide == 20 {
		t.Errorf("%d of 20 clicks of others are in Kafka, and %d of 20 of one who has a /48", others, wide)
	}
	if !f.queue.waiting.Take(netip.Prefix{}, 150) {
		t.Error("nobody waits, but places are taken")
	}
}

// TestClosingEndsInTime: clicks that Kafka has not taken by then are counted as dropped.
func TestClosingEndsInTime(t *testing.T) {
	for name, spoil := range map[string]func(*topic){
		"away":    func(k *topic) { k.away = true },
		"hanging": func(k *topic) { k.blocked = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Queue = 1000 })
			f.store.links["abc"] = "https://a.example/"
			spoil(f.kafka)
			for range 500 {
				f.follow(http.MethodGet, "/abc")
			}
			began := time.Now()
			f.close(t, 50*time.Millisecond)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if f.dropped("closing") != 500 || len(f.kafka.clicks) != 0 {
				t.Errorf("%v dropped, %d written", f.dropped("closing"), len(f.kafka.clicks))
			}
			f.follow(http.MethodGet, "/abc") // a straggler
			if f.dropped("closing") != 501 {
				t.Error("a click after the end went somewhere")
			}
		})
	}
}

// TestAnInvalidClickIsCounted: a peer without an address, as on a Unix socket, is redirected, and its click is counted as invalid.
func TestAnInvalidClickIsCounted(t *testing.T) {
	f := newFixture(t, nil)
	f.queue.add(f.click(&http.Request{RemoteAddr: "@", Header: http.Header{}}, netip.Addr{}, "abc"), netip.Addr{})
	if f.dropped("invalid") != 1 {
		t.Errorf("%v", f.dropped("invalid"))
	}
}

func TestSenselessOptions(t *testing.T) {
	about, err := enrich.New(enrich.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := func(want string, spoil func(*Options)) {
		t.Helper()
		o := Options{Enrich: about, Metrics: prometheus.NewRegistry(), Cache: 1, Queue: 1, NegativeTTL: 1}
		spoil(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	f("links.cache", func(o *Options) { o.Cache = 0 })
	f("links.queue", func(o *Options) { o.Queue = 0 })
	f("links.negative_ttl", func(o *Options) { o.NegativeTTL = 0 })
	f("links.base_url", func(o *Options) { o.BaseURL = "sho.rt" })
}

// TestPanicsAreSurvived: panics in our own goroutines are recovered, since net/http would not.
func TestPanicsAreSurvived(t *testing.T) {
	var panics atomic.Int64
	f := newFixture(t, func(o *Options) { o.Panicked = func() { panics.Add(1) } })
	f.store.links["abc"] = "https://a.example/"
	f.store.set(func() { f.store.panics = true })
	if w := f.follow(http.MethodGet, "/abc"); w.Code != http.StatusServiceUnavailable || panics.Load() != 1 {
		t.Errorf("a store that panics: %d, %d counted", w.Code, panics.Load())
	}
	f.store.set(func() { f.store.panics = false })
	f.kafka.set(func() { f.kafka.panics = true })
	if w := f.follow(http.MethodGet, "/abc"); w.Code != http.StatusFound {
		t.Errorf("after it: %d", w.Code)
	}
	f.close(t, time.Minute)
	if f.dropped("panic") != 1 || f.dropped("closing") != 0 || panics.Load() != 2 {
		t.Errorf("a click whose writing panics: %v dropped, %v at the end, %d counted", f.dropped("panic"), f.dropped("closing"), panics.Load())
	}
}
