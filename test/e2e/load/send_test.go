package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// standIn stands in for the producer: it notes ids and answers every tenth request 503.
type standIn struct {
	mu       sync.Mutex
	requests int
	ids      map[string]int
	answer   int
}

func (d *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests++
	if d.requests%10 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	id := r.PostFormValue("id")
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		var body struct{ ID string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		id = body.ID
	}
	d.ids[id]++
	w.WriteHeader(d.answer)
}

func TestSendInsistsUntilEachIsAccepted(t *testing.T) {
	d := &standIn{ids: map[string]int{}, answer: http.StatusAccepted}
	server := httptest.NewServer(d)
	defer server.Close()
	events, order := Make(5, 1000), Order(5, 1000)
	r, err := (&Client{URL: server.URL, Connections: 8}).Send(t.Context(), events, order)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if !r.Accepted[i] || d.ids[e.ID()] == 0 {
			t.Errorf("event %d: accepted %t, seen %d times", i, r.Accepted[i], d.ids[e.ID()])
		}
	}
	if int(r.Requests) != len(order) || r.Busy == 0 || int(r.Requests+r.Busy) != d.requests {
		t.Errorf("%d accepted and %d refused of %d places and %d requests", r.Requests, r.Busy, len(order), d.requests)
	}
	if o := r.Oracle(events); o.Clicks+o.Visits != 1000 || o.Duplicates != 0 {
		t.Errorf("the oracle was told of %d clicks, %d visits, %d duplicates", o.Clicks, o.Visits, o.Duplicates)
	}
}

func TestAnotherAnswerIsAnError(t *testing.T) {
	server := httptest.NewServer(&standIn{ids: map[string]int{}, answer: http.StatusOK})
	defer server.Close()
	r, err := (&Client{URL: server.URL, Connections: 1}).Send(t.Context(), Make(5, 20), Order(5, 20))
	if err == nil || !strings.Contains(err.Error(), "200 OK") {
		t.Errorf("got %v", err)
	}
	if r.Requests != 0 {
		t.Errorf("%d accepted", r.Requests)
	}
}

func TestStubbornRetriesCutRequests(t *testing.T) {
	d := &standIn{ids: map[string]int{}, answer: http.StatusAccepted}
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%7 == 0 {
			panic(http.ErrAbortHandler)
		}
		d.ServeHTTP(w, r)
	}))
	defer server.Close()
	events, order := Make(5, 100), Order(5, 100)
	r, err := (&Client{URL: server.URL, Connections: 4, Stubborn: true}).Send(t.Context(), events, order)
	if err != nil || slices.Contains(r.Accepted, false) || r.Broken == 0 || r.Broken >= r.Busy {
		t.Errorf("%d requests cut off, %d refused, or not all accepted: %v", r.Broken, r.Busy, err)
	}
	if _, err := (&Client{URL: server.URL, Connections: 4}).Send(t.Context(), events, order); err == nil {
		t.Error("no error without Stubborn")
	}
}

func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	d := &standIn{ids: map[string]int{}, answer: http.StatusAccepted}
	server := httptest.NewServer(d)
	defer server.Close()
	stop := make(chan struct{})
	var once sync.Once
	client := &Client{URL: server.URL, Connections: 4, Stop: stop, Pace: func(place int) {
		if place == 50 {
			once.Do(func() { close(stop) })
		}
	}}
	events := Make(5, 1000)
	r, err := client.Send(t.Context(), events, Order(5, 1000))
	if err != nil || r.Requests < 20 || r.Requests > 60 {
		t.Fatalf("%d requests, %v", r.Requests, err)
	}
	for i, e := range events {
		if r.Accepted[i] != (d.ids[e.ID()] > 0) {
			t.Errorf("event %d: accepted %t, seen %d times", i, r.Accepted[i], d.ids[e.ID()])
		}
	}
}

func TestFormsCarrySeconds(t *testing.T) {
	for _, e := range Make(2, 200) {
		if !e.Form {
			continue
		}
		path, contentType, body := e.Request()
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(body)))
		req.Header.Set("Content-Type", contentType)
		if got := req.PostFormValue("timestamp") + "000"; got != fmt.Sprint(e.Visit.TS) {
			t.Fatalf("timestamp %s ms, want %d", got, e.Visit.TS)
		}
		if req.FormValue("siteId") != e.Visit.SiteID {
			t.Fatalf("site %q, want %q", req.FormValue("siteId"), e.Visit.SiteID)
		}
		if req.PostFormValue("feature1") != e.Visit.Features[0] || req.PostFormValue("feature2") != e.Visit.Features[1] {
			t.Fatalf("features of %s, want %q", body, e.Visit.Features)
		}
	}
}
