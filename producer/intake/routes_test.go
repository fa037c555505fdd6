package intake

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
)

// TestAPanicIsA500 and the process lives: the same server answers again.
func TestAPanicIsA500(t *testing.T) {
	var log bytes.Buffer
	d := &door{metrics: newMetrics(prometheus.NewRegistry()), log: slog.New(slog.NewJSONHandler(&log, nil))}
	server := httptest.NewServer(d.observed("/boom", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })))
	defer server.Close()
	for range 2 {
		response, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusInternalServerError || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s, %v", response.Status, response.Header)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if text := log.String(); strings.Count(text, `"panic":"boom"`) != 2 || strings.Contains(text, "127.0.0.1") {
		t.Errorf("log: %s", text)
	}
}

// TestTheUnforeseenIsOurFault: no error is ever answered with 2xx or blamed on the sender.
func TestTheUnforeseenIsOurFault(t *testing.T) {
	var log bytes.Buffer
	d := &door{metrics: newMetrics(prometheus.NewRegistry()), log: slog.New(slog.NewJSONHandler(&log, nil))}
	w := httptest.NewRecorder()
	d.refuse(w, errors.New("what is this"), "some-id")
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), internalError) || strings.Contains(w.Body.String(), "what is this") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "what is this") {
		t.Errorf("log: %s", &log)
	}
}

func TestSenselessConfigurationIsRefused(t *testing.T) {
	f := func(want string, spoil func(*configs.Producer)) {
		t.Helper()
		cfg, err := configs.LoadProducer("")
		if err != nil {
			t.Fatal(err)
		}
		if err := sensible(cfg); err != nil {
			t.Fatalf("the defaults: %v", err)
		}
		spoil(&cfg)
		err = Run(t.Context(), cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler), func(string) { t.Error("ready") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error about %s", err, want)
		}
	}
	f("kafka.brokers", func(c *configs.Producer) { c.Kafka.Brokers = nil })
	f("kafka.topics", func(c *configs.Producer) { c.Kafka.Topics.Dead = "" })
	f("cannot share", func(c *configs.Producer) { c.Kafka.Topics.Clicks = c.Kafka.Topics.Visits })
	f("kafka.timeout", func(c *configs.Producer) { c.Kafka.Timeout = 0 })
	f("http.max_in_flight", func(c *configs.Producer) { c.HTTP.MaxInFlight = 0 })
	f("http.max_body", func(c *configs.Producer) { c.HTTP.MaxBody = 0 })
}
