package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"footfall/simulator/mock"
)

// fakeProducer answers the n-th request with the n-th of answers, later ones with 202. It keeps the ids of accepted events.
type fakeProducer struct {
	t       *testing.T
	answers []func(http.ResponseWriter, []string)
	taken   map[string]int
	auth    string
	batches []int
}

func (d *fakeProducer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ids []string
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		var e struct{ ID string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			d.t.Errorf("%s: %v", lines.Text(), err)
		}
		ids = append(ids, e.ID)
	}
	d.auth = r.Header.Get("Authorization")
	d.batches = append(d.batches, len(ids))
	if r.Header.Get("Content-Type") != "application/x-ndjson" || !strings.HasPrefix(r.URL.Path, "/v1/") {
		d.t.Errorf("a request to %s of type %s", r.URL, r.Header.Get("Content-Type"))
	}
	if n := len(d.batches); n <= len(d.answers) {
		d.answers[n-1](w, ids)
		return
	}
	d.take(w, ids, func(int) int { return http.StatusAccepted })
}

// take answers each event with a status of its own.
func (d *fakeProducer) take(w http.ResponseWriter, ids []string, status func(int) int) {
	var results []map[string]any
	whole := http.StatusAccepted
	for i, id := range ids {
		s := status(i)
		if s == http.StatusAccepted {
			d.taken[id]++
		} else {
			whole = http.StatusMultiStatus
		}
		results = append(results, map[string]any{"index": i, "status": s, "error": "some_reason"})
	}
	w.WriteHeader(whole)
	if err := json.NewEncoder(w).Encode(map[string]any{"results": results}); err != nil {
		d.t.Error(err)
	}
}

func sendTo(t *testing.T, d *fakeProducer, more ...string) (time.Duration, error) {
	t.Helper()
	d.t, d.taken = t, map[string]int{}
	server := httptest.NewServer(d)
	defer server.Close()
	o, err := parse(append(strings.Fields(theSample+" --seed 1 --clicks 700 --send "+server.URL), more...))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = send(t.Context(), o, mock.MakeVisits(o.plan), mock.MakeClicks(o.plan), io.Discard)
	return time.Since(began), err
}

func status(code int) func(http.ResponseWriter, []string) {
	return func(w http.ResponseWriter, _ []string) {
		w.WriteHeader(code)
		fmt.Fprint(w, `{"error":"some_reason","detail":"because"}`)
	}
}

// A producer that is busy, that closes the connection after it took a batch, and that takes every other event only, has each event in
// the end.
func TestSendAgainUnderTheSameIDs(t *testing.T) {
	d := &fakeProducer{}
	d.answers = []func(http.ResponseWriter, []string){
		status(http.StatusTooManyRequests),
		func(w http.ResponseWriter, ids []string) {
			d.take(httptest.NewRecorder(), ids, func(int) int { return http.StatusAccepted })
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		},
		status(http.StatusServiceUnavailable),
		func(w http.ResponseWriter, ids []string) {
			d.take(w, ids, func(i int) int { return []int{http.StatusAccepted, http.StatusServiceUnavailable}[i%2] })
		},
	}
	if _, err := sendTo(t, d, "--key", "sesame"); err != nil {
		t.Fatal(err)
	}
	if len(d.taken) != 1200 {
		t.Errorf("%d different events were taken", len(d.taken))
	}
	twice := 0
	for _, n := range d.taken {
		if n > 1 {
			twice++
		}
	}
	if twice != 500 { // the batch whose connection was closed
		t.Errorf("%d events came twice", twice)
	}
	if d.auth != "Bearer sesame" {
		t.Errorf("the key came as %q", d.auth)
	}
}

func TestSendGivesUpOnFinalErrors(t *testing.T) {
	d := &fakeProducer{}
	for want, answer := range map[string]func(http.ResponseWriter, []string){
		"401 some_reason because": status(http.StatusUnauthorized),
		"400 some_reason": func(w http.ResponseWriter, ids []string) {
			d.take(w, ids, func(int) int { return http.StatusBadRequest })
		},
		"has no result for each event":  func(w http.ResponseWriter, _ []string) { w.WriteHeader(http.StatusAccepted) },
		"the producer answered 404 Not": func(w http.ResponseWriter, _ []string) { http.Error(w, "nothing here", http.StatusNotFound) },
	} {
		d.answers, d.batches = []func(http.ResponseWriter, []string){answer}, nil
		if _, err := sendTo(t, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if len(d.batches) != 1 {
			t.Errorf("%s: asked %d times", want, len(d.batches))
		}
	}
}

func TestAProducerThatCannotBeReached(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	s := &sender{producer: server.URL}
	left, _, err := s.post(t.Context(), "/v1/visits", []event{{"id", []byte("{}\n")}})
	if len(left) != 1 || !errors.Is(err, errLater) || strings.Count(err.Error(), "the producer cannot be reached: dial tcp") != 1 || s.answered {
		t.Errorf("%d left, %v", len(left), err)
	}
}

func TestRate(t *testing.T) {
	d := &fakeProducer{}
	took, err := sendTo(t, d, "--rate", "2400")
	if err != nil || len(d.taken) != 1200 {
		t.Fatal(err, len(d.taken))
	}
	if took < 490*time.Millisecond {
		t.Errorf("1,200 events at 2,400 per second took %s", took)
	}
	for _, n := range d.batches {
		if n > 240 {
			t.Errorf("%d events at once", n)
		}
	}
}

func TestProgressIsLinesWithoutATerminal(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, "sent", 10)
	p.at(3) // too early for a line
	p.shown = p.shown.Add(-lineEvery)
	p.at(5)
	p.end(10)
	if got := b.String(); !strings.HasPrefix(got, "sent 5 of 10") || strings.Count(got, "\n") != 2 || strings.Contains(got, "\r") {
		t.Errorf("got %q", got)
	}
	b.Reset()
	p.terminal = true
	p.end(10)
	if got := b.String(); !strings.Contains(got, "\r") || !strings.Contains(got, "["+strings.Repeat("#", barWidth)+"] sent 10 of 10") {
		t.Errorf("got %q", got)
	}
}
