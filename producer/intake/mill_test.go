package intake

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/models"
)

// TestNobodyWaitsForKafkaInTheMill: what was large or compressed leaves the processors to others while Kafka writes it.
func TestNobodyWaitsForKafkaInTheMill(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	d := closedDoor(t)
	d.pub, d.access, d.limits, d.visits = p, &access{open: true}, newLimits(d.cfg.Limits), visits{models.DefaultPlan()}
	long := strings.Repeat("%61", 1024)
	f := func(h http.HandlerFunc, body, zipped string) {
		t.Helper()
		written := make(chan struct{})
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			<-written
			return nil, nil, false
		})
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Encoding", zipped)
		w, done := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			h(w, r)
		}()
		for p.inSlots() == 0 {
			time.Sleep(time.Millisecond)
		}
		for began := time.Now(); d.mill.inUse() > 0 && time.Since(began) < time.Second; {
			time.Sleep(time.Millisecond)
		}
		if n := d.mill.inUse(); n != 0 {
			t.Errorf("%d places of the mill are taken by who waits for Kafka", n)
		}
		close(written)
		if <-done; w.Code != http.StatusAccepted {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	form := "siteId=s&guid=g&feature1=" + long + "&feature2=" + long + strings.Repeat("\n", 4<<10)
	f(d.takeForm, zippedText(form), "gzip")
	f(d.takeForm, form, "")
	event := d.takeJSON(d.cfg.Kafka.Topics.Visits, d.visits.read)
	f(event, zippedText(`{"siteId":"s","guid":"g"}`+strings.Repeat(" ", 9<<10)), "gzip")
	f(event, `{"siteId":"s","guid":"g"}`+strings.Repeat(" ", 9<<10), "")
}

func (p *publisher) inSlots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// TestLargeEventsGoThroughTheMill: what takes a processor for as long as a batch does not keep one key's events from all of them.
func TestLargeEventsGoThroughTheMill(t *testing.T) {
	d := closedDoor(t)
	d.access, d.limits, d.visits = &access{open: true}, newLimits(d.cfg.Limits), visits{models.DefaultPlan()}
	d.mill = newPlaces(1, 1, 1, 1, time.Millisecond)
	if !d.mill.take(t.Context(), tenant{grant: "another"}) {
		t.Fatal("no place where there is one")
	}
	d.metrics = newMetrics(prometheus.NewRegistry(), d.large)
	f := func(h http.HandlerFunc, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		if h(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	f(d.takeJSON(d.cfg.Kafka.Topics.Visits, d.visits.read), `{"siteId":"s","guid":"g"`+strings.Repeat(" ", 20<<10)+`,"x":1}`)
	f(d.takeForm, "siteId=s&x=1"+strings.Repeat("&", 20<<10))
}
