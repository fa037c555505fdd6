package intake

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// TestAPanicIsA500, and the same server answers the next request.
func TestAPanicIsA500(t *testing.T) {
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	small, large := admission.NewBodySlots(1<<20, 1<<10, 1<<10)
	d := &server{metrics: newMetrics(reg, small, large), log: slog.New(slog.NewJSONHandler(&log, nil))}
	server := httptest.NewServer(d.observe("/boom", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })))
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
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			counted[f.GetName()] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	if counted["footfall_producer_panics_total"] != 2 || counted["footfall_producer_refused_total"] != 2 || counted["footfall_producer_request_seconds"] != 2 {
		t.Errorf("counted %v", counted)
	}
}

func TestStraightPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/track": true, "/v1/visits": true, "/v1/visits/": true, "/a%2f..%2fb": true, "/...": true,
		"": false, "*": false, "track": false, "//": false, "//track": false, "/v1//visits": false, "/./track": false, "/a/../track": false, "/..": false, "/track//": false,
	} {
		if isCanonical(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

// TestTheUnforeseenIsOurFault: an unknown error is answered with 500, never with 2xx or 4xx.
func TestTheUnforeseenIsOurFault(t *testing.T) {
	var log bytes.Buffer
	d := &server{metrics: newMetrics(prometheus.NewRegistry(), &admission.Semaphore{}, &admission.Semaphore{}), log: slog.New(slog.NewJSONHandler(&log, nil))}
	w := httptest.NewRecorder()
	d.refuse(w, errors.New("what is this"), "some-id")
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), answer.Internal) || strings.Contains(w.Body.String(), "what is this") {
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
		if err := checkConfig(cfg); err != nil {
			t.Fatalf("the defaults: %v", err)
		}
		spoil(&cfg)
		err = Run(t.Context(), cfg, nil, prometheus.NewRegistry(), slog.New(slog.DiscardHandler), func(string, string) { t.Error("ready") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error about %s", err, want)
		}
		if marked := (*configs.Wrong)(nil); !errors.As(err, &marked) {
			t.Errorf("%v is not marked as one of the configuration", err)
		}
	}
	f("kafka.brokers", func(c *configs.Producer) { c.Kafka.Brokers = nil })
	f("kafka.topics", func(c *configs.Producer) { c.Kafka.Topics.Dead = "" })
	f("cannot share", func(c *configs.Producer) { c.Kafka.Topics.Clicks = c.Kafka.Topics.Visits })
	f("kafka.timeout", func(c *configs.Producer) { c.Kafka.Timeout = 0 })
	f("http.max_in_flight", func(c *configs.Producer) { c.HTTP.MaxInFlight = 0 })
	f("http.batch_events", func(c *configs.Producer) { c.HTTP.BatchEvents = 0 })
	f("http.admin_addr", func(c *configs.Producer) { c.HTTP.AdminAddr = c.HTTP.Addr })
	f("time.max_age", func(c *configs.Producer) { c.Time.MaxAge = -1 })
	f("limits", func(c *configs.Producer) { c.Limits.SitePerSecond = -1 })
	f("limits", func(c *configs.Producer) { c.Limits.ClientPerSecond = math.NaN() })
	f("limits", func(c *configs.Producer) { c.Limits.PageClientPerSecond = -1 })
	f("limits", func(c *configs.Producer) { c.Limits.NewVisitorsPerMinute = -1 })
	f("privacy.ip", func(c *configs.Producer) { c.Privacy.IP = "some" })
	f("a key of at least", func(c *configs.Producer) { c.Privacy.IP = "hashed" })
	f("privacy.rotate", func(c *configs.Producer) { c.Privacy.Rotate = "weekly" })
	f("privacy.rotate", func(c *configs.Producer) { c.Privacy.Rotate = "daily" }) // of addresses that are not hashed
	f("privacy.ipv6_prefix", func(c *configs.Producer) { c.Privacy.IPv6Prefix = 0 })
	f("trusted proxies", func(c *configs.Producer) { c.HTTP.TrustedProxies = []string{"everybody"} })
	f("http.tls", func(c *configs.Producer) { c.HTTP.TLS.Cert = "cert.pem" })
	hash := strings.Repeat("0", 64)
	site := func(s configs.Site) func(*configs.Producer) {
		return func(c *configs.Producer) { c.Access.Sites = []configs.Site{s} }
	}
	f("neither a site nor links", site(configs.Site{KeyHashes: []string{hash}}))
	f("access.open: false", func(c *configs.Producer) {
		c.Access = configs.Access{Open: true, Sites: []configs.Site{{Site: "s", KeyHashes: []string{hash}}}}
	})
	f("no key_hashes", site(configs.Site{Site: "s"}))
	f("create_links", site(configs.Site{Site: "s", CreateLinks: true, KeyHashes: []string{hash}}))
	f("64 hex digits", site(configs.Site{Site: "s", KeyHashes: []string{"a-key-in-the-clear"}}))
	f("64 hex digits", site(configs.Site{Site: "s", KeyHashes: []string{hash + "0"}}))
	f("is no origin", site(configs.Site{Site: "s", KeyHashes: []string{hash}, Origins: []string{"shop.example"}}))
	f("is no origin", site(configs.Site{Site: "s", KeyHashes: []string{hash}, Origins: []string{"https://shop.example/page"}}))
	f("features: guid is the name", func(c *configs.Producer) { c.Features = []string{"guid"} })
	f("http.max_body", func(c *configs.Producer) { c.HTTP.MaxBody = 0 })
}
