package intake_test

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

// maxEcho is how many bytes in a row an answer may repeat of what was sent.
const maxEcho = 100

// marks are characters that fill echoRequests and that no answer has by itself.
var marks = regexp.MustCompile(`[Yy]+`)

func marked(n int) string { return strings.Repeat("y", n) }

// echoRequests put a long text into every place of a request that an answer could repeat.
func echoRequests() map[string]string {
	visit := func(body string, headers ...string) string { return raw("POST", "/v1/visits", headers, body) }
	click := func(body string) string { return raw("POST", "/v1/clicks", nil, body) }
	link := func(body string) string { return raw("POST", "/v1/links", nil, body) }
	return map[string]string{
		"an unknown field":               visit(`{"` + marked(5000) + `":1}`),
		"an unknown field of a click":    click(`{"` + marked(5000) + `":1}`),
		"a field in capitals":            visit(`{"siteId":"s","guid":"g","` + strings.ToUpper(marked(5000)) + `":1}`),
		"a field twice":                  visit(`{"` + marked(5000) + `":1,"` + marked(5000) + `":1}`),
		"text for a number":              visit(`{"siteId":"s","guid":"g","ts":"` + marked(5000) + `"}`),
		"no JSON":                        visit(marked(5000)),
		"no JSON in a batch":             visit("[" + marked(5000) + "]"),
		"a batch":                        visit(`[{"` + marked(5000) + `":1},{"` + marked(5000) + `":1}]`),
		"lines":                          visit(`{"`+marked(5000)+`":1}`+"\n", ndjson),
		"an id":                          visit(`{"siteId":"s","guid":"g","id":"` + marked(128) + `"}`),
		"an id in a batch":               visit(`[{"siteId":"s","guid":"g","id":"` + marked(128) + `"}]`),
		"an id in a form":                raw("POST", "/track", nil, "siteId=s&guid=g&id="+marked(128)),
		"an id that is too long":         visit(`{"siteId":"s","guid":"g","id":"` + marked(5000) + `"}`),
		"an Idempotency-Key":             visit(aVisit, "Idempotency-Key: "+marked(128)),
		"an Idempotency-Key of a batch":  visit("["+aVisit+"]", "Idempotency-Key: "+marked(5000)),
		"an unknown field of a form":     raw("POST", "/track", nil, marked(5000)+"=1"),
		"a field of a form twice":        raw("POST", "/track", nil, marked(5000)+"=1&"+marked(5000)+"=1"),
		"a form that is none":            raw("POST", "/track", nil, marked(5000)+"%zz"),
		"an unknown field in a URL":      raw("POST", "/track?"+marked(5000)+"=1", nil, "guid=g"),
		"a URL that is none":             raw("POST", "/track?%zz"+marked(5000), nil, "guid=g"),
		"an unknown field of a pixel":    get("/pixel.gif?" + marked(5000) + "=1"),
		"an unknown field of its click":  get("/pixel.gif?short_url=a&" + marked(5000) + "=1"),
		"a path":                         get("/v1/" + marked(5000)),
		"a link":                         get("/" + marked(60)),
		"a method":                       raw(strings.ToUpper(marked(5000)), "/v1/visits", nil, aVisit),
		"a media type":                   visit(aVisit, "Content-Type: "+marked(5000)),
		"an encoding":                    visit(aVisit, "Content-Encoding: "+marked(5000)),
		"an expectation":                 visit(aVisit, "Expect: "+marked(5000)),
		"a transfer encoding":            raw("POST", "/v1/visits", []string{"Transfer-Encoding: " + marked(5000)}, ""),
		"an origin":                      visit(aVisit, "Origin: https://"+marked(5000)),
		"an origin that asks":            raw("OPTIONS", "/v1/visits", []string{"Origin: https://" + marked(5000), "Access-Control-Request-Method: " + marked(100)}, ""),
		"a key":                          raw("POST", "/v1/visits?key="+marked(5000), []string{bearer(marked(5000))}, aVisit),
		"an unknown field of a new link": link(`{"` + marked(5000) + `":1}`),
		"a field of a new link twice":    link(`{"long_url":"https://example.org/","` + marked(500) + `":1,"` + marked(500) + `":1}`),
		"a name of a new link":           link(`{"short_url":"` + marked(5000) + `","long_url":"https://example.org/"}`),
		"a target":                       link(`{"short_url":"echo","long_url":"https://example.org/` + marked(2000) + `"}`),
		"a target again":                 link(`{"short_url":"echo","long_url":"https://example.org/` + marked(2000) + `"}`),
		"a target that is none":          link(`{"long_url":"ftp://` + marked(2000) + `"}`),
		"a host":                         strings.Replace(link(`{"long_url":"https://example.org/"}`), "Host: x", "Host: "+marked(250), 1),
		"a host that is none":            strings.Replace(link(`{"long_url":"https://example.org/"}`), "Host: x", "Host: "+marked(5000)+"@", 1),
	}
}

// echoes: an answer repeats at most 100 bytes of anything that its client sent, headers included.
func echoes(t *testing.T, b broker) {
	d := startServerWith(t, b, &linkStore{}, func(cfg *configs.Producer) { cfg.Links.Enabled = true })
	for name, text := range echoRequests() {
		answer := allOf(t, d.addr, text)
		if !strings.HasPrefix(answer, "HTTP/1.1 ") {
			t.Errorf("%s: %.100q", name, answer)
		}
		for _, found := range marks.FindAllString(answer, -1) {
			if len(found) > maxEcho {
				t.Errorf("%s: the answer repeats %d bytes of it: %.300s", name, len(found), answer)
			}
		}
	}
}

// boundedAnswers: the answer to a batch does not grow with the size of its events.
func boundedAnswers(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	f := func(name string, event func(i int) string) {
		t.Helper()
		events := make([]string, 1000)
		for i := range events {
			events[i] = event(i)
		}
		text := zip("[" + strings.Join(events, ",") + "]")
		answer := allOf(t, d.addr, post(text, gzips))
		t.Logf("%s: %d bytes of gzip, %d of answer", name, len(text), len(answer))
		if want := 300 << 10; len(answer) > want || strings.Count(answer, `"index"`) != 1000 {
			t.Errorf("%s: %d bytes with %d results, want 1000 within %d", name, len(answer), strings.Count(answer, `"index"`), want)
		}
	}
	f("unknown fields", func(int) string { return `{"` + marked(1000) + `":1}` })
	f("unknown fields, escaped", func(int) string { return `{"` + strings.Repeat(`\u0001`, 160) + `":1}` })
	f("long ids", func(i int) string { return fmt.Sprintf(`{"siteId":"s","guid":"g","id":"%0128d"}`, i) })
	f("ids, escaped", func(i int) string {
		return fmt.Sprintf(`{"siteId":"s","guid":"g","id":"%s%d"}`, strings.Repeat(`\u0001`, 100), i)
	})
	f("no events", func(int) string { return `0` })
}

// allOf sends a request and returns all of the answer as it came.
func allOf(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	must(t, err)
	defer func() { _ = conn.Close() }()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	go func() { _, _ = io.WriteString(conn, text) }() // the producer may answer and close before it has read all
	answer, err := io.ReadAll(conn)
	if len(answer) == 0 {
		t.Fatalf("no answer to %.80q: %v", text, err)
	}
	return string(answer)
}
