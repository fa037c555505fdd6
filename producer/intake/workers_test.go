package intake

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/configs"
	"footfall/internal/kafka/dial"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/publisher"
)

// TestWorkerSlotsAreReleasedForKafka: large and compressed requests hold no worker slot while they wait for Kafka.
func TestWorkerSlotsAreReleasedForKafka(t *testing.T) {
	d := newTestServer(t)
	cluster, p, inFlight := openPublisher(t, d.cfg)
	d.pub, d.access, d.limits, d.visits = p, &admission.Access{Open: true}, admission.NewLimits(d.cfg.Limits), visits{models.DefaultPlan()}
	long := strings.Repeat("%61", 1024)
	f := func(h handler, body, zipped string) {
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
			d.refusing(h).ServeHTTP(w, r)
		}()
		for inFlight() == 0 {
			time.Sleep(time.Millisecond)
		}
		for began := time.Now(); d.workers.InUse() > 0 && time.Since(began) < time.Second; {
			time.Sleep(time.Millisecond)
		}
		if n := d.workers.InUse(); n != 0 {
			t.Errorf("%d worker slots are held by requests that wait for Kafka", n)
		}
		close(written)
		if <-done; w.Code != http.StatusAccepted {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	form := "siteId=s&guid=g&feature1=" + long + "&feature2=" + long + strings.Repeat("\n", 4<<10)
	f(d.receiveForm, zippedText(form), "gzip")
	f(d.receiveForm, form, "")
	event := d.receiveJSON(d.cfg.Kafka.Topics.Visits, d.visits.parseJSON)
	f(event, zippedText(`{"siteId":"s","guid":"g"}`+strings.Repeat(" ", 9<<10)), "gzip")
	f(event, `{"siteId":"s","guid":"g"}`+strings.Repeat(" ", 9<<10), "")
}

// openPublisher makes a publisher with its own broker, and a function that returns how many events are in flight.
func openPublisher(t *testing.T, cfg configs.Producer) (*kfake.Cluster, *publisher.Publisher, func() float64) {
	t.Helper()
	names := []string{cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(6, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	reg := prometheus.NewRegistry()
	p, err := publisher.Open(t.Context(), dial.Plain(cluster.ListenAddrs()...), publisher.Options{
		Topics: names, Timeout: time.Minute, Slots: cfg.HTTP.MaxInFlight, Metrics: reg, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return cluster, p, func() float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "footfall_producer_in_flight" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		t.Fatal("no metric of events in flight")
		return 0
	}
}

// TestLargeEventsTakeAWorkerSlot: a single event that takes a processor as long as a batch needs a worker slot too.
func TestLargeEventsTakeAWorkerSlot(t *testing.T) {
	d := newTestServer(t)
	d.access, d.limits, d.visits = &admission.Access{Open: true}, admission.NewLimits(d.cfg.Limits), visits{models.DefaultPlan()}
	d.workers = admission.NewSemaphore(1, 0, 1, 1, time.Millisecond)
	if !d.workers.Acquire(t.Context(), admission.Tenant{Grant: "another"}) {
		t.Fatal("no slot where there is one")
	}
	d.metrics = newMetrics(prometheus.NewRegistry(), &admission.Semaphore{}, &admission.Semaphore{})
	f := func(h handler, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		if d.refusing(h).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	f(d.receiveJSON(d.cfg.Kafka.Topics.Visits, d.visits.parseJSON), `{"siteId":"s","guid":"g"`+strings.Repeat(" ", 20<<10)+`,"x":1}`)
	f(d.receiveForm, "siteId=s&x=1"+strings.Repeat("&", 20<<10))
}
