package intake_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

// quick sets a kafka.timeout of a second.
func quick(cfg *configs.Producer) { cfg.Kafka.Timeout = time.Second }

// unavailable checks the answer of a producer that has no Kafka, and returns the event's id.
func unavailable(t *testing.T, r reply) string {
	t.Helper()
	if r.status != http.StatusServiceUnavailable || r.Error != "kafka_unavailable" || r.ID == "" || r.header.Get("Retry-After") == "" {
		t.Fatalf("without Kafka: %d %s, Retry-After %q", r.status, r.raw, r.header.Get("Retry-After"))
	}
	return r.ID
}

// sendUntilTaken sends an event again and again under one id, as a sender should, until it is accepted.
func sendUntilTaken(t *testing.T, d *runningServer, id string) {
	t.Helper()
	body := fmt.Sprintf(`{"short_url":"abc","ip":"203.0.113.7","id":%q}`, id)
	eventually(t, "event "+id+" is accepted", 20*time.Second, func() bool {
		r := d.post(t, "/v1/clicks", jsonType, body)
		if r.status != http.StatusAccepted {
			unavailable(t, r)
		}
		return r.status == http.StatusAccepted
	})
}

// killed stops Kafka for longer than the publisher keeps its metadata, and starts it again.
func killed(t *testing.T, b broker) {
	d := startServer(t, b, quick)
	sendUntilTaken(t, d, "before")
	b.Kill(t)

	began := time.Now()
	lost := unavailable(t, d.post(t, "/v1/clicks", jsonType, `{"short_url":"abc","ip":"203.0.113.7"}`))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a 503 took %v with kafka.timeout 1s", took)
	}
	if r := d.do(t, http.MethodGet, "/healthz", nil, nil); r.status != http.StatusOK {
		t.Errorf("/healthz = %d while Kafka is down; it says whether the process lives", r.status)
	}
	eventually(t, "/readyz says 503", 5*time.Second, func() bool {
		return d.ask(t, http.MethodGet, "/readyz").status == http.StatusServiceUnavailable
	})
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		unavailable(t, d.post(t, "/track?siteId=s", formType, "guid=g"))
	}

	b.Start(t)
	sendUntilTaken(t, d, lost)
	eventually(t, "/readyz says 200", 10*time.Second, func() bool {
		return d.ask(t, http.MethodGet, "/readyz").status == http.StatusOK
	})
	for i := range 50 {
		body := fmt.Sprintf(`{"short_url":"abc","ip":"203.0.113.%d","id":"after-%d"}`, i, i)
		if r := d.post(t, "/v1/clicks", jsonType, body); r.status != http.StatusAccepted {
			t.Fatalf("event %d after Kafka was back = %d %s", i, r.status, r.raw)
		}
	}
	in := ids(t, d.broker, d.topics.Clicks)
	for i := range 50 {
		if in[fmt.Sprint("after-", i)] != 1 {
			t.Errorf("event after-%d is %d times in Kafka", i, in[fmt.Sprint("after-", i)])
		}
	}
	if in["before"] < 1 || in[lost] < 1 { // more than once if a busy Kafka took it and answered too late
		t.Errorf("in Kafka: before %d times, %s %d times", in["before"], lost, in[lost])
	}
	if log := d.log.String(); strings.Count(log, "Kafka does not take events") == 0 || !strings.Contains(log, "Kafka takes events again") {
		t.Errorf("the log does not tell of Kafka's absence:\n%s", log)
	}
}

// paused pauses Kafka. An event answered with 503 may be in Kafka afterwards; one answered with 202 must be.
func paused(t *testing.T, b broker) {
	d := startServer(t, b, quick)
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	began := time.Now()
	lost := unavailable(t, d.post(t, "/v1/clicks", jsonType, `{"short_url":"abc","ip":"203.0.113.7"}`))
	if took := time.Since(began); took < 900*time.Millisecond || took > 5*time.Second {
		t.Errorf("a 503 took %v with kafka.timeout 1s", took)
	}
	b.Resume(t)
	sendUntilTaken(t, d, lost)
	if in := ids(t, d.broker, d.topics.Clicks); in["before"] != 1 || in[lost] < 1 {
		t.Errorf("in Kafka: before %d times, %s %d times", in["before"], lost, in[lost])
	}
}

// overload fills all slots of a producer while Kafka is paused. One event more is refused at once and never written.
func overload(t *testing.T, b broker) {
	const room = 3
	d := startServer(t, b, func(cfg *configs.Producer) {
		cfg.HTTP.MaxInFlight = room
		cfg.Kafka.Timeout = 30 * time.Second // nobody times out here
	})
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	waiting := make(chan reply, room)
	for i := range room {
		go func() {
			body := fmt.Sprintf(`{"siteId":"s","guid":"g","id":"waiting-%d"}`, i)
			r, err := d.try(http.MethodPost, "/v1/visits", http.Header{}, strings.NewReader(body))
			if err != nil {
				t.Error(err)
			}
			waiting <- r
		}()
	}
	eventually(t, "all places are taken", 5*time.Second, func() bool {
		return d.metric(t, "footfall_producer_in_flight") == fmt.Sprint(room)
	})
	began := time.Now()
	r := d.post(t, "/v1/visits", jsonType, `{"siteId":"s","guid":"g","id":"too-many"}`)
	if r.status != http.StatusServiceUnavailable || r.Error != "overloaded" || r.ID != "too-many" || r.header.Get("Retry-After") == "" {
		t.Errorf("one too many = %d %s, Retry-After %q", r.status, r.raw, r.header.Get("Retry-After"))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("refusing took %v", took)
	}
	b.Resume(t)
	for range room {
		if r := <-waiting; r.status != http.StatusAccepted {
			t.Errorf("one that waited = %d %s", r.status, r.raw)
		}
	}
	if r := d.post(t, "/v1/visits", jsonType, `{"siteId":"s","guid":"g","id":"after"}`); r.status != http.StatusAccepted {
		t.Errorf("when there is room again = %d %s", r.status, r.raw)
	}
	in := ids(t, d.broker, d.topics.Visits)
	if len(in) != room+1 || in["too-many"] != 0 {
		t.Errorf("in Kafka: %v", in)
	}
}

// heldPlaces: an event in flight to Kafka cannot be taken back, so it keeps its slot until it is settled, even if its sender was answered
// before. The second of two events is sent after the first one's request, which has a timeout of at least a second: its sender is
// answered most of a second before its own request ends.
func heldPlaces(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) {
		cfg.HTTP.MaxInFlight = 2
		cfg.Kafka.Timeout = 2 * time.Second
	})
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	send := func() chan reply {
		answered := make(chan reply, 1)
		go func() {
			r, err := d.try(http.MethodPost, "/track?siteId=s", http.Header{}, strings.NewReader("guid=g"))
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		return answered
	}
	first := send()
	time.Sleep(100 * time.Millisecond)
	second := send()
	unavailable(t, <-first)
	unavailable(t, <-second)
	if held := d.metric(t, "footfall_producer_in_flight"); held != "1" {
		t.Errorf("an event that is under way though its sender was answered: %s places are taken, want 1", held)
	}
	b.Resume(t)
	eventually(t, "the places are free again", 20*time.Second, func() bool {
		return d.metric(t, "footfall_producer_in_flight") == "0"
	})
	sendUntilTaken(t, d, "after")
}

// hangUp closes the client's connection while its event is being written. The event is written nevertheless, and it does not count as a
// failure of Kafka.
func hangUp(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.Kafka.Timeout = 30 * time.Second })
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	conn, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	body := "siteId=s&guid=g&id=gone"
	if _, err := fmt.Fprintf(conn, "POST /track HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event is in flight", 5*time.Second, func() bool {
		return d.metric(t, "footfall_producer_in_flight") == "1"
	})
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	b.Resume(t)
	eventually(t, "the event is written", 20*time.Second, func() bool {
		return d.metric(t, fmt.Sprintf("footfall_producer_events_total{topic=%q}", d.topics.Visits)) == "1"
	})
	if in := ids(t, d.broker, d.topics.Visits); in["gone"] != 1 {
		t.Errorf("in Kafka: %v", in)
	}
	if n := d.metric(t, `footfall_producer_refused_total{reason="kafka_unavailable"}`); n != "0" {
		t.Errorf("Kafka is blamed for %q clients that hung up", n)
	}
}

// health checks what an operator looks at.
func health(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		if r := d.ask(t, http.MethodGet, path); r.status != http.StatusOK || strings.TrimSpace(r.raw) != want {
			t.Errorf("GET %s = %d %s", path, r.status, r.raw)
		}
		if r := d.ask(t, http.MethodHead, path); r.status != http.StatusOK {
			t.Errorf("HEAD %s = %d", path, r.status)
		}
	}
	if r := d.do(t, http.MethodGet, "/healthz", nil, nil); r.status != http.StatusOK {
		t.Errorf("the public's /healthz = %d %s", r.status, r.raw)
	}
	if r := d.ask(t, http.MethodGet, "/debug/pprof/"); r.status != http.StatusNotFound {
		t.Errorf("profiles, without http.pprof = %d %s", r.status, r.raw)
	}
	for _, path := range []string{"/readyz", "/metrics", "/debug/pprof/"} { // the public must not see how much is counted
		if r := d.do(t, http.MethodGet, path, nil, nil); r.status != http.StatusNotFound {
			t.Errorf("the public's %s = %d %s", path, r.status, r.raw)
		}
	}
	if r := d.ask(t, http.MethodPost, "/track"); r.status != http.StatusNotFound {
		t.Errorf("an event for operators = %d %s", r.status, r.raw)
	}
	d.post(t, "/track?siteId=s", formType, "guid=g")
	d.post(t, "/track?siteId=s", formType, "guid=")
	d.post(t, "/nowhere", "", "")
	for sample, want := range map[string]string{
		`footfall_producer_requests_total{code="202",route="/track"}`:            "1",
		`footfall_producer_requests_total{code="400",route="/track"}`:            "1",
		`footfall_producer_requests_total{code="404",route="other"}`:             "6",
		`footfall_producer_requests_total{code="200",route="/readyz"}`:           "2",
		`footfall_producer_request_seconds_count{route="/track"}`:                "2",
		`footfall_producer_request_seconds_bucket{route="/track",le="10"}`:       "2",
		`footfall_producer_request_seconds_count{route="/v1/visits"}`:            "0",
		fmt.Sprintf("footfall_producer_events_total{topic=%q}", d.topics.Visits): "1",
		`footfall_producer_refused_total{reason="missing_guid"}`:                 "1",
		`footfall_producer_kafka_write_seconds_count`:                            "1",
		`footfall_producer_kafka_write_seconds_bucket{le="0.2"}`:                 "1", // a lone event is not kept waiting
		`footfall_producer_refused_total{reason="not_found"}`:                    "6",
	} {
		if got := d.metric(t, sample); got != want {
			t.Errorf("%s = %q, want %q", sample, got, want)
		}
	}
	// An event's slot is given back after its sender was answered.
	eventually(t, "nothing is in flight", 5*time.Second, func() bool { return d.metric(t, "footfall_producer_in_flight") == "0" })
	for _, line := range strings.Split(strings.TrimSpace(d.log.String()), "\n") {
		if !strings.Contains(line, "listening") && !strings.Contains(line, "anyone may write") {
			t.Errorf("normal operation logs: %s", line)
		}
	}
}
