package intake_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/configs"
	"footfall/test/e2e/load"
)

var loadFor = flag.Duration("load.for", 4*time.Second, "how long the load test sends")

// TestLoad: 200 connections send as fast as they can, beside slow clients, some of them with large batches. Every answer is 202, 429 or
// 503, large batches get through, and every event answered 202 is in the topic. It is here for the race detector; test/e2e does the same
// to a process on real Kafka and measures its memory.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	const connections, loris = 200, 200
	d := startServer(t, startFake(t), func(cfg *configs.Producer) {
		cfg.HTTP.TrustedProxies = []string{"127.0.0.1"}
		cfg.Limits.ClientPerSecond, cfg.Limits.ClientBurst = 1, 5 // reached by the one client below that has many connections
	})
	ctx, cancel := context.WithTimeout(t.Context(), *loadFor)
	defer cancel()

	held, slowEnded := load.Slow(ctx, d.addr, loris)
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	var (
		senders  sync.WaitGroup
		mu       sync.Mutex
		accepted = map[string]bool{}
		answers  [600]atomic.Int64
	)
	for c := range connections {
		senders.Go(func() {
			var mine []string
			for i := 0; ctx.Err() == nil; i++ {
				address := fmt.Sprintf("10.%d.%d.%d", c, i>>8&255, i&255)
				if c < 20 { // together above the limit, on a slow machine too
					address = "10.0.0.0"
				}
				id := fmt.Sprintf("%d-%d", c, i)
				status, err := sendOne(client, d.url, address, id)
				if err != nil {
					t.Errorf("no answer: %v", err)
					return
				}
				answers[status].Add(1)
				if status == http.StatusAccepted {
					mine = append(mine, id)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range mine {
				accepted[id] = true
			}
		})
	}
	large := 0
	senders.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			r, err := d.try(http.MethodPost, "/v1/visits", http.Header{"X-Forwarded-For": {fmt.Sprintf("192.0.2.%d", i%256)}}, strings.NewReader(largeBatch))
			switch {
			case err != nil:
				t.Errorf("no answer to a large batch: %v", err)
				return
			case r.status == http.StatusAccepted:
				large++
			}
			answers[min(r.status, 599)].Add(1)
		}
	})
	senders.Wait()
	slowEnded()

	for status := range answers {
		if n := answers[status].Load(); n > 0 {
			t.Logf("%d: %d", status, n)
			if status != http.StatusAccepted && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
				t.Errorf("%d answers of %d", n, status)
			}
		}
	}
	t.Logf("%.0f events/s and %d large batches beside %d slow clients", float64(len(accepted))/loadFor.Seconds(), large, held.Load())
	if large == 0 {
		t.Error("no large batch got through")
	}
	if held.Load() < loris {
		t.Errorf("%d slow clients were connected, want %d", held.Load(), loris)
	}
	if len(accepted) == 0 || answers[http.StatusTooManyRequests].Load() == 0 {
		t.Errorf("%d accepted, %d limited", len(accepted), answers[http.StatusTooManyRequests].Load())
	}
	in := ids(t, d.broker, d.topics.Visits)
	for id := range accepted {
		if in[id] == 0 {
			t.Errorf("event %s was answered with 202 and is not in the topic", id)
		}
	}
}

// largeBatch is more than a single event may be.
var largeBatch = "[" + strings.Repeat(" ", 100<<10) + `{"siteId":"large","guid":"g"}]`

// TestSlowSendersLeaveRoom: more slow senders of large batches than there are slots, each with its own address, connect again as soon as
// they are cut off. Another client's batch still gets a slot after a wait.
func TestSlowSendersLeaveRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	d := startServer(t, startFake(t), func(cfg *configs.Producer) { cfg.HTTP.TrustedProxies = []string{"127.0.0.1"} })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, slowEnded := load.SlowLarge(ctx, d.addr, 200)
	eventually(t, "all room for large batches is taken", 20*time.Second, func() bool { return d.metric(t, "footfall_producer_large_bodies") == "128" })
	for i := range 3 {
		began := time.Now()
		r := d.do(t, http.MethodPost, "/v1/visits", http.Header{"X-Forwarded-For": {"203.0.113.7"}}, strings.NewReader(largeBatch))
		if r.status != http.StatusAccepted {
			t.Errorf("large batch %d = %d %s after %v", i, r.status, r.raw, time.Since(began))
		}
	}
	cancel()
	slowEnded()
	if n := d.metric(t, `footfall_producer_refused_total{reason="body_timeout"}`); n == "" || n == "0" {
		t.Error("no slow sender timed out")
	}
	eventually(t, "no room is taken", 20*time.Second, func() bool { return d.metric(t, "footfall_producer_large_bodies") == "0" })
}

// TestOneClientLeavesRoom: the slow senders of one client, however many, get its share of the slots only, so that others need not wait.
func TestOneClientLeavesRoom(t *testing.T) {
	d := startServer(t, startFake(t), func(cfg *configs.Producer) { cfg.HTTP.TrustedProxies = []string{"127.0.0.1"} })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, slowEnded := load.SlowLargeFrom(ctx, d.addr, 200, "203.0.113.7") // more than there are places
	eventually(t, "one client has its share of the room", 20*time.Second, func() bool { return d.metric(t, "footfall_producer_large_bodies") == "16" })
	var took []time.Duration
	for i := range 20 {
		began := time.Now()
		r := d.do(t, http.MethodPost, "/v1/visits", http.Header{"X-Forwarded-For": {"203.0.113.8"}}, strings.NewReader(largeBatch))
		if took = append(took, time.Since(began)); r.status != http.StatusAccepted {
			t.Errorf("large batch %d of another client = %d %s after %v", i, r.status, r.raw, took[i])
		}
		if n, err := strconv.Atoi(d.metric(t, "footfall_producer_large_bodies")); err != nil || n > 16 {
			t.Fatalf("one client has %d places, %v", n, err)
		}
	}
	slices.Sort(took)
	if half := took[len(took)/2]; half > time.Second { // a place is waited for up to three; a busy machine may be slow at times
		t.Errorf("large batches of another client took %v", took)
	}
	cancel()
	slowEnded()
}

// sendOne sends a visit for a client behind a proxy.
func sendOne(client *http.Client, url, address, id string) (int, error) {
	body := fmt.Sprintf(`{"siteId":"s","guid":"%s","id":"%s","feature1":"facebook.com"}`, address, id)
	request, err := http.NewRequest(http.MethodPost, url+"/v1/visits", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-Forwarded-For", address)
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
