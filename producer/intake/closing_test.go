package intake_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/configs"
)

// closing ends the door while many requests are in flight. Each is answered or cut off; what was answered with 202 is in
// Kafka, once.
func closing(t *testing.T, b broker) {
	d := openDoor(t, b, nil)
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
					return // the door is closed
				}
				mu.Lock()
				if r.status == http.StatusAccepted {
					accepted = append(accepted, r.ID)
				} else {
					t.Errorf("answer of a closing door: %d %s", r.status, r.raw)
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
		t.Error("a closed door still listens")
	}
}

// closingSlowly ends the door while Kafka keeps everybody waiting. Nobody new gets in; who is in gets an answer.
func closingSlowly(t *testing.T, b broker) {
	const inside = 5
	d := openDoor(t, b, func(cfg *configs.Producer) { cfg.Kafka.Timeout = 30 * time.Second })
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
		return d.metric(t, "footfall_door_in_flight") == fmt.Sprint(inside)
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

// closingWithoutKafka: a supervisor gives a process ten seconds, with Kafka or without.
func closingWithoutKafka(t *testing.T, b broker) {
	d := openDoor(t, b, func(cfg *configs.Producer) { cfg.Kafka.Timeout = 3 * time.Second })
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	defer b.Resume(t)
	answered := make(chan reply, 1)
	go func() {
		r, err := d.try(http.MethodPost, "/track?siteId=s", http.Header{}, strings.NewReader("guid=g"))
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	eventually(t, "the event is in flight", 5*time.Second, func() bool {
		return d.metric(t, "footfall_door_in_flight") == "1"
	})
	began := time.Now()
	d.close(t)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("closing took %v with kafka.timeout 3s", took)
	}
	unavailable(t, <-answered)
}
