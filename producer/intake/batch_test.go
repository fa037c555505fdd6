package intake_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

const (
	linesType = "application/x-ndjson"
	plainType = "text/plain;charset=UTF-8"
)

// batchReply is the answer to a batch.
type batchReply struct {
	Results []struct {
		Index, Status     int
		ID, Error, Detail string
	}
}

// batch sends a batch and reads the results, which must be one for each event, in order.
func (d *runningServer) batch(t *testing.T, path string, header http.Header, body string, status, events int) batchReply {
	t.Helper()
	r := d.do(t, http.MethodPost, path, header, strings.NewReader(body))
	var all batchReply
	if err := json.Unmarshal([]byte(r.raw), &all); err != nil || r.status != status || len(all.Results) != events {
		t.Fatalf("%.80s = %d %.200s, want %d with %d results (%v)", body, r.status, r.raw, status, events, err)
	}
	for i, one := range all.Results {
		if one.Index != i || (one.Status == http.StatusAccepted) != (one.Error == "") {
			t.Errorf("result %d: %+v", i, one)
		}
	}
	return all
}

// zip compresses a body.
func zip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // into memory
	_ = w.Close()
	return b.String()
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i, i)
	}
	return b.String()
}

// batches sends many events at once, in every form, and finds each of them in Kafka once.
func batches(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	want := map[string]bool{}
	send := func(name string, header http.Header, n int, body func(lines string) string) {
		t.Helper()
		text := lines(n, `{"siteId":"s","guid":"g%d","id":"`+name+`-%d"}`)
		for i, one := range d.batch(t, "/v1/visits", header, body(text), http.StatusAccepted, n).Results {
			if one.ID != fmt.Sprintf("%s-%d", name, i) {
				t.Errorf("%s: result %d has id %s", name, i, one.ID)
			}
			want[one.ID] = true
		}
	}
	array := func(lines string) string {
		return " [" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",") + "]\n"
	}
	same := func(lines string) string { return lines }
	asJSON, asLines := http.Header{"Content-Type": {jsonType}}, http.Header{"Content-Type": {linesType}}
	zipped := http.Header{"Content-Type": {linesType}, "Content-Encoding": {"gzip"}}
	send("array", asJSON, 1000, array)
	send("none-named", http.Header{}, 2, array)
	send("one", asJSON, 1, array)
	send("lines", asLines, 1000, same)
	send("one-line", asLines, 1, strings.TrimSpace)
	send("blank-lines", asLines, 3, func(lines string) string { return "\r\n\n" + strings.ReplaceAll(lines, "\n", "\r\n\r\n") })
	send("zipped", zipped, 1000, zip)
	send("large", asLines, 900, func(lines string) string { return lines + strings.Repeat("\n", 1<<20-len(lines)) })

	in := ids(t, d.broker, d.topics.Visits)
	for id := range want {
		if in[id] != 1 {
			t.Errorf("event %s was answered with 202 and is %d times in Kafka", id, in[id])
		}
	}
	if len(in) != len(want) {
		t.Errorf("%d ids in Kafka, want %d", len(in), len(want))
	}
}

// mixedBatches have valid and invalid events: each gets its own result, in the order of the batch.
func mixedBatches(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	r := d.batch(t, "/v1/clicks", http.Header{"Content-Type": {jsonType}}, `[
		{"short_url":"abc","ip":"203.0.113.7","id":"good-0"}, {"ip":"203.0.113.7"}, 7, null, "[", [],
		{"short_url":"abc","ip":"203.0.113.7","x":1},
		{"short_url":"abc","ip":"203.0.113.7","id":"good-7"},
		{"short_url":"abc","ip":"203.0.113.7","ts":32503680000000}
	]`, http.StatusMultiStatus, 9)
	for i, want := range []string{"", "missing_short_url", "bad_json", "missing_short_url", "bad_json", "bad_json", "unknown_field", "", "timestamp_in_future"} {
		status := http.StatusBadRequest
		if want == "" {
			status = http.StatusAccepted
		}
		if one := r.Results[i]; one.Error != want || one.Status != status || (one.ID != "") != (want == "") {
			t.Errorf("event %d: %+v, want %s", i, one, want)
		}
	}
	long := `{"siteId":"s","guid":"` + strings.Repeat("x", 65536) + `"}`
	r = d.batch(t, "/v1/visits", http.Header{"Content-Type": {linesType}}, "{\n"+long+"\n\xff\n"+`{"siteId":"s","guid":"g","id":"good"}`,
		http.StatusMultiStatus, 4)
	for i, want := range []string{"bad_json", "body_too_large", "bad_utf8", ""} {
		if r.Results[i].Error != want {
			t.Errorf("line %d: %+v, want %s", i, r.Results[i], want)
		}
	}
	if in := ids(t, d.broker, d.topics.Clicks); len(in) != 2 || in["good-0"] != 1 || in["good-7"] != 1 {
		t.Errorf("clicks in Kafka: %v", in)
	}
	if in := ids(t, d.broker, d.topics.Visits); len(in) != 1 || in["good"] != 1 {
		t.Errorf("visits in Kafka: %v", in)
	}
	if got := d.metric(t, `footfall_producer_refused_total{reason="missing_short_url"}`); got != "2" {
		t.Errorf("refused events are counted one by one, got %q", got)
	}
}

// batchWithoutKafka: the results name the events that Kafka does not take and those for which there is no slot.
func batchWithoutKafka(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) { quick(cfg); cfg.HTTP.MaxInFlight = 3 })
	sendUntilTaken(t, d, "before")
	b.Pause(t)
	body := strings.Repeat(`{"siteId":"s","guid":"g"}`+"\n", 3) + "{}\n" + strings.Repeat(`{"siteId":"s","guid":"g"}`+"\n", 2)
	r := d.batch(t, "/v1/visits", http.Header{"Content-Type": {linesType}}, body, http.StatusMultiStatus, 6)
	b.Resume(t)
	for i, want := range []string{"kafka_unavailable", "kafka_unavailable", "kafka_unavailable", "missing_site_id", "overloaded", "overloaded"} {
		if one := r.Results[i]; one.Error != want || (want != "missing_site_id") != (one.Status == 503 && one.ID != "") {
			t.Errorf("event %d: %+v, want %s", i, one, want)
		}
	}
	eventually(t, "the places are free again", 20*time.Second, func() bool { return d.metric(t, "footfall_producer_in_flight") == "0" })
	sendUntilTaken(t, d, "after")
}
