package intake_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/configs"
)

// closing stops the producer while many requests are in flight. Each is answered or cut off; every event answered with 202 is in Kafka
// once.
func closing(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	var (
		mu       sync.Mutex
		accepted []string
		senders  sync.WaitGroup
	)
	for s := range 16 {
		senders.Go(func() {
			for i := 0; ; i++ {
				body := fmt.Sprintf(`{"siteId":"s","guid":"g%d","id":"%d-%d"}`, i%50, s, i)
				r, err := d.try(http.MethodPost, "/v1/visits", http.Header{}, strings.NewReader(body))
				if err != nil {
					return // the producer has stopped
				}
				mu.Lock()
				if r.status == http.StatusAccepted {
					accepted = append(accepted, r.ID)
				} else {
					t.Errorf("answer of a stopping producer: %d %s", r.status, r.raw)
				}
				mu.Unlock()
			}
		})
	}
	eventually(t, "200 events are accepted", 20*time.Second, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(accepted) >= 200
	})
	d.close(t)
	senders.Wait()

	in := ids(t, d.broker, d.topics.Visits)
	for _, id := range accepted {
		if in[id] != 1 {
			t.Errorf("event %s was answered with 202 and is %d times in Kafka", id, in[id])
		}
	}
	if _, err := net.DialTimeout("tcp", d.addr, time.Second); err == nil {
		t.Error("a stopped producer still listens")
	}
}

// closingSlowly stops the producer while Kafka does not answer. New connections are refused; requests in progress are answered.
func closingSlowly(t *testing.T, b broker) {
	const inside = 5
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.Kafka.Timeout = 30 * time.Second })
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	waiting := make(chan reply, inside)
	for i := range inside {
		go func() {
			body := fmt.Sprintf("siteId=s&guid=g%d&id=inside-%d", i, i)
			r, err := d.try(http.MethodPost, "/track", http.Header{}, strings.NewReader(body))
			if err != nil {
				t.Error(err)
			}
			waiting <- r
		}()
	}
	eventually(t, "all are inside", 5*time.Second, func() bool {
		return d.metric(t, "footfall_producer_in_flight") == fmt.Sprint(inside)
	})
	d.stop()
	eventually(t, "nobody gets in any more", 5*time.Second, func() bool {
		conn, err := net.DialTimeout("tcp", d.addr, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	b.Resume(t)
	for range inside {
		if r := <-waiting; r.status != http.StatusAccepted {
			t.Errorf("one that was inside = %d %s", r.status, r.raw)
		}
	}
	d.close(t)
	in := ids(t, d.broker, d.topics.Visits)
	for i := range inside {
		if id := fmt.Sprint("inside-", i); in[id] != 1 {
			t.Errorf("event %s is %d times in Kafka", id, in[id])
		}
	}
}

// closingWithoutKafka: the producer stops within ten seconds, as supervisors demand, even if Kafka is away. An event and a click wait for
// Kafka meanwhile, and a sender has stopped in the middle of its body.
func closingWithoutKafka(t *testing.T, b broker) {
	store := &linkStore{}
	store.all.Store("abc", "https://a.example/")
	d := startServerWith(t, b, store, func(cfg *configs.Producer) { cfg.Links.Enabled = true })
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	defer b.Resume(t)
	slow, err := net.Dial("tcp", d.addr)
	must(t, err)
	defer func() { _ = slow.Close() }()
	_, err = io.WriteString(slow, "POST /track?siteId=s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nguid=")
	must(t, err)
	answered := make(chan reply, 1)
	go func() {
		r, err := d.try(http.MethodPost, "/track?siteId=s", http.Header{}, strings.NewReader("guid=g"))
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	follow := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer follow.CloseIdleConnections()
	redirect, err := follow.Get(d.url + "/abc")
	must(t, err)
	must(t, redirect.Body.Close())
	if redirect.StatusCode != http.StatusFound {
		t.Errorf("a redirect without Kafka = %s", redirect.Status)
	}
	eventually(t, "the event and the click are in flight", 5*time.Second, func() bool {
		return d.metric(t, "footfall_producer_in_flight") == "2"
	})
	began := time.Now()
	d.close(t)
	if took := time.Since(began); took > 9500*time.Millisecond {
		t.Errorf("closing took %v", took)
	} else {
		t.Logf("closing took %v", took)
	}
	unavailable(t, <-answered)
}
