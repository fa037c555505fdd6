package intake_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/models"
)

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"

	// sourceForm is the body that the sources document, to the byte.
	sourceForm = "guid=962e0c3a-6c08-4160-9196-f0050faffe62&timestamp=1522802128&feature1=facebook.com&feature2=/index.html"
)

// acceptedEvents sends events that leave nothing to the producer, and reads back what Kafka has. The partitions are those
// that Java's own client picks out of 6 for these keys.
func acceptedEvents(t *testing.T, b broker) {
	d := startServer(t, b, func(c *configs.Producer) { c.Privacy.KeepUserAgent = true })
	type wanted struct {
		topic, key, value string
		partition         int
	}
	want := map[string]wanted{} // by id

	accept := func(path, contentType, body string, w wanted) {
		t.Helper()
		r := d.post(t, path, contentType, body)
		if r.status != http.StatusAccepted || r.ID == "" || r.raw != fmt.Sprintf("{\"id\":%q}\n", r.ID) {
			t.Fatalf("POST %s %s = %d %s", path, body, r.status, r.raw)
		}
		if got := r.header.Get("Content-Type"); got != jsonType {
			t.Errorf("Content-Type of the answer = %q", got)
		}
		w.value = strings.ReplaceAll(w.value, "ID", r.ID)
		want[r.ID] = w
	}

	source := wanted{d.topics.Visits, "site1|962e0c3a-6c08-4160-9196-f0050faffe62",
		`{"v":1,"id":"ID","siteId":"site1","guid":"962e0c3a-6c08-4160-9196-f0050faffe62","ts":1522802128000,"feature1":"facebook.com","feature2":"/index.html"}`, 5}
	accept("/track?siteId=site1", "", sourceForm, source)
	accept("/track?siteId=site1", formType, sourceForm, source)
	accept("/track", formType+"; charset=UTF-8", sourceForm+"&siteId=site1", source)
	accept("/track", formType, sourceForm+"&siteId=site1&id=mine\r\n", source)
	accept("/track?siteId=a", formType, "guid=b&timestamp=1522802128&feature1=&feature2=%C3%A8+%26", wanted{d.topics.Visits, "a|b",
		`{"v":1,"id":"ID","siteId":"a","guid":"b","ts":1522802128000,"feature2":"è \u0026"}`, 4})
	accept("/v1/visits", jsonType, `{"v":1,"id":"v-1","siteId":"a","guid":"b","ts":1522802128999,"feature1":"x","feature2":"y"}`,
		wanted{d.topics.Visits, "a|b", `{"v":1,"id":"ID","siteId":"a","guid":"b","ts":1522802128999,"feature1":"x","feature2":"y"}`, 4})
	accept("/v1/clicks", jsonType+"; charset=utf-8",
		`{"v":1,"id":"c-1","short_url":"abc","ip":"203.0.113.7","country":"it","ts":1436968800000,"referrer":"news.example","ua":"Mozilla/5.0","bot":true}`,
		wanted{d.topics.Clicks, "abc|203.0.113.7",
			`{"v":1,"id":"ID","short_url":"abc","ip":"203.0.113.7","country":"IT","ts":1436968800000,"referrer":"news.example","ua":"Mozilla/5.0","bot":true}`, 1})
	accept("/v1/clicks", "", `{"short_url":"abc","ip":"2001:DB8:0:0::0001","ts":1436968800000}`, wanted{d.topics.Clicks, "abc|2001:db8::",
		`{"v":1,"id":"ID","short_url":"abc","ip":"2001:db8::","ts":1436968800000}`, 0})
	accept("/v1/clicks", jsonType, `{"short_url":"abc","ip":"::ffff:203.0.113.7","ts":1436968800000}`, wanted{d.topics.Clicks, "abc|203.0.113.7",
		`{"v":1,"id":"ID","short_url":"abc","ip":"203.0.113.7","ts":1436968800000}`, 1})

	if _, ok := want["mine"]; !ok {
		t.Error("the id of a form was not kept")
	}
	got := map[string]wanted{}
	for _, m := range append(messages(t, d.broker, d.topics.Visits), messages(t, d.broker, d.topics.Clicks)...) {
		for id, w := range want {
			if strings.Contains(string(m.Value), strconv.Quote(id)) {
				got[id] = wanted{m.Topic, string(m.Key), string(m.Value), m.Partition}
				if got[id] != w {
					t.Errorf("event %s\n got %+v\nwant %+v", id, got[id], w)
				}
			}
		}
		if age := time.Since(m.Time); age < -time.Minute || age > time.Minute {
			t.Errorf("the record's time is %v: Kafka's retention would go by the event's", m.Time)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d events in Kafka, want %d", len(got), len(want))
	}
	if n := len(messages(t, d.broker, d.topics.Dead)); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

// filledIn sends events that leave to the producer what they may.
func filledIn(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	before := models.Millis(time.Now().UnixMilli())
	form := d.post(t, "/track", formType, "siteId=site1&guid=g1&timestamp=")
	visit := d.post(t, "/v1/visits", jsonType, `{"siteId":"site1","guid":"g2","ts":null,"id":null}`)
	click := d.post(t, "/v1/clicks", jsonType, `{"short_url":"abc","ip":"203.0.113.7","country":""}`)
	raw := rawTrack(t, d)
	after := models.Millis(time.Now().UnixMilli())

	check := func(made reply, m kafka.Message, version int, id string, ts models.Millis) {
		t.Helper()
		if made.status != http.StatusAccepted || id != made.ID || version != models.Version || ts < before || ts > after {
			t.Errorf("answer %d %s, in Kafka: %s; want ts in [%d, %d]", made.status, made.raw, m.Value, before, after)
		}
		if u, err := uuid.Parse(id); err != nil || u.Version() != 7 {
			t.Errorf("id %q is no UUIDv7", id)
		}
	}
	replies := map[string]reply{"g1": form, "g2": visit, "g3": raw}
	visits := messages(t, d.broker, d.topics.Visits)
	if len(visits) != len(replies) {
		t.Errorf("%d visits in Kafka, want %d", len(visits), len(replies))
	}
	for _, m := range visits {
		v, err := models.DefaultPlan().UnmarshalVisit(m.Value, true)
		if err != nil {
			t.Fatal(err)
		}
		check(replies[v.GUID], m, v.V, v.ID, v.TS)
	}
	clicks := messages(t, d.broker, d.topics.Clicks)
	if len(clicks) != 1 {
		t.Fatalf("%d clicks in Kafka, want 1", len(clicks))
	}
	c, err := models.UnmarshalClick(clicks[0].Value, true)
	if err != nil {
		t.Fatal(err)
	}
	check(click, clicks[0], c.V, c.ID, c.TS)
}

// rawTrack posts as a shell would with a pipe into netcat: no Content-Type, and the sending side is closed before the
// answer is there.
func rawTrack(t *testing.T, d *runningServer) reply {
	t.Helper()
	conn, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	body := "siteId=site1&guid=g3"
	_, err = fmt.Fprintf(conn, "POST /track HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(string(text), `{"id":"`), `"`)
	return reply{status: response.StatusCode, raw: string(text), ID: id}
}
