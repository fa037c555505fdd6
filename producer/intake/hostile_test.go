package intake_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostileRequest is written to the connection as it is, since http.Client would refuse to send most of them. reason is that of the
// answer; it is empty if net/http answers by itself.
type hostileRequest struct {
	name, text string
	status     int
	reason     string
}

// raw puts a request together.
func raw(method, target string, headers []string, body string) string {
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", method, target)
	for _, h := range headers {
		text += h + "\r\n"
	}
	if body != "" {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	return text + "\r\n" + body
}

// post puts a JSON request to /v1/visits together.
func post(body string, headers ...string) string { return raw("POST", "/v1/visits", headers, body) }

func get(target string) string { return raw("GET", target, nil, "") }

// bomb is a beginning and 20 MB of spaces, in 20 KB of gzip: two members, which are read as one text.
func bomb(beginning string) string { return zip(beginning) + spaces() }

var spaces = sync.OnceValue(func() string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	for range 20 {
		_, _ = io.WriteString(w, strings.Repeat(" ", 1<<20))
	}
	_ = w.Close()
	return b.String()
})

const (
	aVisit = `{"siteId":"s","guid":"g"}`
	gzips  = "Content-Encoding: gzip"
	ndjson = "Content-Type: application/x-ndjson"
)

// hostileRequests makes the requests. It takes a second, because of the bombs.
func hostileRequests() []hostileRequest {
	return []hostileRequest{
		// Compressed bodies.
		{"a bomb as one event", post(bomb("{"), gzips), 413, "body_too_large"},
		{"a bomb as an array", post(bomb("["), gzips), 413, "body_too_large"},
		{"a bomb as lines", post(bomb(""), gzips, ndjson), 413, "body_too_large"},
		{"a bomb as a form", raw("POST", "/track?siteId=s", []string{gzips}, bomb("guid=")), 413, "body_too_large"},
		{"a bomb in a bomb", post(zip(bomb("[")), gzips), 400, "bad_utf8"},
		{"gzip that is none", post(aVisit, gzips), 400, "bad_gzip"},
		{"gzip of nothing", raw("POST", "/v1/visits", []string{gzips, "Content-Length: 0"}, ""), 400, "bad_gzip"},
		{"gzip cut short", post(zip(aVisit)[:20], gzips), 400, "bad_gzip"},
		{"gzip with a wrong sum", post(zip(aVisit)[:len(zip(aVisit))-8]+"12345678", gzips), 400, "bad_gzip"},
		{"gzip and garbage", post(zip(aVisit)+"garbage", gzips), 400, "bad_gzip"},
		{"gzip twice", post(zip(zip(aVisit)), "Content-Encoding: gzip, gzip"), 415, "unsupported_media_type"},
		{"gzip in two headers", post(zip(aVisit), gzips, "Content-Encoding: br"), 415, "unsupported_media_type"},
		{"brotli", post(aVisit, "Content-Encoding: br"), 415, "unsupported_media_type"},
		{"deflate", post(aVisit, "Content-Encoding: deflate"), 415, "unsupported_media_type"},

		// Batches.
		{"too many events", post("[" + strings.Repeat("0,", 1000) + "0]"), 413, "too_many_events"},
		{"too many lines", post(strings.Repeat("{}\n", 1001), ndjson), 413, "too_many_events"},
		{"a batch that is too large", post("[" + strings.Repeat(" ", 1<<20) + "]"), 413, "body_too_large"},
		{"lines that are too large", post(strings.Repeat("\n", 1<<20+1), ndjson), 413, "body_too_large"},
		{"no lines", post("\n\n", ndjson), 400, "empty_batch"},
		{"an array that does not end", post("[" + aVisit), 400, "bad_json"},
		{"an array with a hole", post("[" + aVisit + ",,{}]"), 400, "bad_json"},
		{"an array with a comma too many", post("[" + aVisit + ",]"), 400, "bad_json"},
		{"two arrays", post("[" + aVisit + "][" + aVisit + "]"), 400, "bad_json"},
		{"an array and more", post("[" + aVisit + "] x"), 400, "bad_json"},
		{"an array that ends as an object", post("[" + aVisit + "}"), 400, "bad_json"},
		{"a deep array", post("[" + strings.Repeat("[", 30000)), 400, "bad_json"},
		{"a deep object", post(strings.Repeat(`{"siteId":`, 6000)), 400, "bad_json"},
		{"an array of arrays of visits", post("[[" + aVisit + "]]"), 207, "bad_json"},
		{"an array with NUL", post("[\x00]"), 400, "bad_json"},
		{"a byte order mark", post("\ufeff" + aVisit), 400, "bad_json"},
		{"UTF-16", post("{\x00\"\x00s\x00"), 400, "bad_json"},

		// Pixels.
		{"a pixel of nothing", get("/pixel.gif"), 400, "missing_site_id"},
		{"a pixel of both", get("/pixel.gif?short_url=a&siteId=s&guid=g"), 400, "unknown_field"},
		{"a pixel that names its IP", get("/pixel.gif?short_url=a&ip=1.2.3.4"), 400, "unknown_field"},
		{"a pixel of no link", get("/pixel.gif?short_url="), 400, "missing_short_url"},
		{"a pixel with NUL", get("/pixel.gif?short_url=a%00b"), 400, "short_url_has_nul"},
		{"a pixel in latin1", get("/pixel.gif?siteId=%E9&guid=g"), 400, "site_id_bad_utf8"},
		{"a pixel with two keys", get("/pixel.gif?siteId=s&guid=g&key=a&key=b"), 400, "repeated_field"},
		{"a pixel said twice", get("/pixel.gif?siteId=s&siteId=s&guid=g"), 400, "repeated_field"},
		{"a pixel that is no query", get("/pixel.gif?%zz"), 400, "bad_form"},
		{"a pixel of tomorrow", get("/pixel.gif?siteId=s&guid=g&timestamp=32503680000"), 400, "timestamp_in_future"},
		{"a pixel that is posted", raw("POST", "/pixel.gif?siteId=s&guid=g", nil, "x"), 405, "method_not_allowed"},

		// Paths.
		{"a path upwards", get("/v1/../../etc/passwd"), 404, "not_found"},
		{"a path upwards, encoded", get("/v1/%2e%2e/%2e%2e/etc/passwd"), 404, "not_found"},
		{"a path with a backslash", get(`/..\..\etc`), 404, "not_found"},
		{"a path with NUL", get("/v1/visits%00.gif"), 404, "not_found"},
		{"a path in capitals", raw("POST", "/V1/VISITS", nil, aVisit), 404, "not_found"},
		{"a path with more", raw("POST", "/v1/visits/", nil, aVisit), 404, "not_found"},
		{"a path with an encoded slash", raw("POST", "/v1%2fvisits/x", nil, aVisit), 404, "not_found"},
		{"two slashes", raw("POST", "//v1//visits", nil, aVisit), 404, "not_found"},
		{"another host's URL", raw("POST", "http://evil.example/nowhere", nil, aVisit), 404, "not_found"},
		{"no path", raw("OPTIONS", "*", nil, ""), 200, ""},
		{"a tunnel", raw("CONNECT", "evil.example:443", nil, ""), 404, "not_found"},
		{"an encoding that is none", get("/%zz"), 400, "400 Bad Request"},

		// Headers and framing.
		{"a giant header", raw("POST", "/v1/visits", []string{"X: " + strings.Repeat("x", 64<<10)}, aVisit), 431, ""},
		{"a header of 17 KB", post(aVisit, "X: "+strings.Repeat("x", 17<<10)), 431, ""},
		{"a header of almost 16 KB", post("{}", "X: "+strings.Repeat("x", 15<<10)), 400, "missing_site_id"},
		{"many headers", raw("POST", "/v1/visits", slices.Repeat([]string{"X: " + strings.Repeat("x", 100)}, 400), aVisit), 431, ""},
		{"a giant URL", get("/pixel.gif?siteId=" + strings.Repeat("s", 64<<10)), 431, ""},
		{"a giant key", post(aVisit, "Idempotency-Key: "+strings.Repeat("k", 8000)), 400, "id_too_long"},
		{"an empty key", post(aVisit, "Idempotency-Key: "), 400, "bad_id"},
		{"a header with NUL", post(aVisit, "X-Forwarded-For: a\x00b"), 400, ""},
		{"two lengths", raw("POST", "/v1/visits", []string{"Content-Length: 1"}, aVisit), 400, ""},
		{"a length and chunks", raw("POST", "/v1/visits", []string{"Transfer-Encoding: chunked"}, aVisit+"\r\n"), 400, "incomplete_body"},
		{"a negative length", raw("POST", "/v1/visits", []string{"Content-Length: -1"}, ""), 400, ""},
		{"a length beyond all", raw("POST", "/v1/visits", []string{"Content-Length: 99999999999999999999"}, ""), 400, ""},
		{"an unknown transfer encoding", raw("POST", "/v1/visits", []string{"Transfer-Encoding: gzip"}, ""), 501, ""},
		{"a bad chunk", raw("POST", "/v1/visits", []string{"Transfer-Encoding: chunked"}, "") + "zz\r\n", 400, "incomplete_body"},
		{"no host", "POST /v1/visits HTTP/1.1\r\nConnection: close\r\n\r\n", 400, ""},
		{"HTTP/3.0 in text", "POST /v1/visits HTTP/3.0\r\nHost: x\r\n\r\n", 505, ""},
		{"no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, ""},
		{"an expectation", post(aVisit, "Expect: miracles"), 417, ""},
		{"a method in small letters", raw("post", "/v1/visits", nil, aVisit), 405, "method_not_allowed"},
		{"a trace", raw("TRACE", "/v1/visits", nil, ""), 405, "method_not_allowed"},

		// Media types.
		{"XML", post(aVisit, "Content-Type: application/xml"), 415, "unsupported_media_type"},
		{"JSON in a picture", post(aVisit, "Content-Type: image/gif"), 415, "unsupported_media_type"},
		{"JSON in UTF-16", post(aVisit, "Content-Type: application/json; charset=utf-16"), 415, "unsupported_media_type"},
		{"a type that is none", post(aVisit, "Content-Type: ;;;"), 415, "unsupported_media_type"},
		{"a problem", post(aVisit, "Content-Type: application/json-patch+json"), 415, "unsupported_media_type"},
		{"lines to track", raw("POST", "/track?siteId=s", []string{ndjson}, "guid=g"), 415, "unsupported_media_type"},

		// Events that pretend.
		{"a beacon of JSON", raw("POST", "/track?siteId=s", []string{"Content-Type: text/plain"}, `{"guid":"g"}`), 400, "unknown_field"},
		{"an id in two places", post(`{"siteId":"s","guid":"g","id":"a"}`, "Idempotency-Key: b"), 400, "conflicting_id"},
		{"a spoofed address", raw("POST", "/v1/clicks", []string{"X-Forwarded-For: 1.2.3.4"}, `{"short_url":"a","ip":"x"}`), 400, "bad_ip"},
		{"a key that is no field", post(`{"siteId":"s","guid":"g","key":"k"}`), 400, "unknown_field"},
		{"a bot that is a word", raw("POST", "/v1/clicks", nil, `{"short_url":"a","bot":"true"}`), 400, "bad_bot"},
		{"a visit of the year 3000", post(`{"siteId":"s","guid":"g","ts":32503680000000}`), 400, "timestamp_in_future"},
		{"a __proto__", post(`{"siteId":"s","guid":"g","__proto__":{}}`), 400, "unknown_field"},
		{"a number of a thousand digits", post(`{"siteId":"s","guid":"g","ts":` + strings.Repeat("9", 1000) + `}`), 400, "bad_timestamp"},
	}
}

// hostile sends each of them, and then checks by the end offsets that nothing reached Kafka, and that the producer still takes events.
func hostile(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	names := []string{d.topics.Visits, d.topics.Clicks, d.topics.Dead}
	sendUntilTaken(t, d, "before")
	before := map[string][]int64{}
	for _, name := range names {
		before[name] = ends(t, d.broker, name)
	}
	requests := hostileRequests()
	if all := len(requests) + len(intruders()); all < 200 {
		t.Errorf("%d requests only", all)
	}
	refused := map[string]int{}
	for _, h := range requests {
		status, body := exchange(t, d.addr, h.text)
		if status != h.status || !strings.Contains(body, h.reason) {
			t.Errorf("%s = %d %.200s, want %d %s", h.name, status, body, h.status, h.reason)
		}
		if strings.Contains(body, `"error":"`+h.reason+`"`) { // else net/http has answered
			refused[h.reason]++
		}
	}
	if refused["not_found"] == 0 || refused["method_not_allowed"] == 0 {
		t.Errorf("refused: %v", refused)
	}
	for reason, n := range refused {
		if got := d.metric(t, fmt.Sprintf("footfall_producer_refused_total{reason=%q}", reason)); got != fmt.Sprint(n) {
			t.Errorf("%d were refused as %s, counted %q", n, reason, got)
		}
	}
	for _, name := range names {
		if after := ends(t, d.broker, name); !slices.Equal(after, before[name]) {
			t.Errorf("the end of %s moved from %v to %v: a refused event reached Kafka", name, before[name], after)
		}
	}
	sendUntilTaken(t, d, "after")
	if got := d.metric(t, "footfall_producer_panics_total"); got != "0" {
		t.Errorf("%s panics", got)
	}
	if !strings.Contains(d.log.String(), `"level":"WARN","msg":"anyone may write`) {
		t.Errorf("a producer that lets anyone write does not warn of it: %s", d.log)
	}
	for line := range strings.Lines(d.log.String()) {
		if !strings.Contains(line, "listening") && !strings.Contains(line, "anyone may write") {
			t.Errorf("a client can write the log: %s", line)
		}
	}
}

// exchange writes bytes and reads one answer.
func exchange(t *testing.T, addr, text string) (status int, body string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, text) }() // the producer may answer and close before it has read all
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer to %.80q: %v", text, err)
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil && len(all) == 0 {
		t.Fatalf("no body to %.80q: %v", text, err)
	}
	return response.StatusCode, string(all)
}
