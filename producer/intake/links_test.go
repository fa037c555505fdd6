package intake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/deployments/stack"
	"footfall/models"
	"footfall/producer/intake"
)

// linkStore keeps links in memory.
type linkStore struct{ all sync.Map }

func (s *linkStore) Create(_ context.Context, short, long string, _ time.Time) (string, bool, error) {
	existing, loaded := s.all.LoadOrStore(short, long)
	if loaded {
		return existing.(string), false, nil
	}
	return "", true, nil
}

func (s *linkStore) Target(_ context.Context, short string) (string, bool, error) {
	long, found := s.all.Load(short)
	if !found {
		return "", false, nil
	}
	return long.(string), true, nil
}

// TestAFailedStartReleasesTheAddress, which the next attempt needs.
func TestAFailedStartReleasesTheAddress(t *testing.T) {
	cfg := defaults(t, startFake(t).Addr())
	ports, err := stack.FreePorts(1)
	must(t, err)
	cfg.HTTP.Addr = fmt.Sprint("127.0.0.1:", ports[0])
	cfg.Links.Enabled = true
	err = intake.Run(t.Context(), cfg, nil, prometheus.NewRegistry(), slog.New(slog.DiscardHandler), func(string, string) { t.Error("it is open") })
	if err == nil || !strings.Contains(err.Error(), "store of links") {
		t.Errorf("links without a store: %v", err)
	}
	l, err := net.Listen("tcp", cfg.HTTP.Addr)
	must(t, err)
	must(t, l.Close())
}

// shortLinks: only some keys may make links, and a redirect makes a click in Kafka.
func shortLinks(t *testing.T, b broker) {
	d := startServerWith(t, b, &linkStore{}, func(cfg *configs.Producer) {
		guarded(cfg)
		cfg.Access.Sites = append(cfg.Access.Sites,
			configs.Site{Links: "campaign", CreateLinks: true, KeyHashes: []string{hashOf("campaign")}},
			configs.Site{Links: "spring-*", CreateLinks: true, KeyHashes: []string{hashOf("spring")}},
			configs.Site{Links: "*", KeyHashes: []string{hashOf("spring")}}) // counts all, and makes its own
		cfg.Links.Enabled = true
		cfg.Limits.NewKeysPerMinute = 2
	})
	create := func(key, body string, status int, reason string) {
		t.Helper()
		header := http.Header{}
		if key != "" {
			header.Set("Authorization", "Bearer "+key)
		}
		r := d.do(t, http.MethodPost, "/v1/links", header, strings.NewReader(body))
		if r.status != status || r.Error != reason {
			t.Errorf("%s by %q = %d %s, want %d %s", body, key, r.status, r.raw, status, reason)
		}
	}
	create("", `{"short_url":"promo-1","long_url":"https://example.org/"}`, 401, "missing_key")
	create("wrong", `{"short_url":"promo-1","long_url":"https://example.org/"}`, 403, "wrong_key")
	create("shop-new", `{"short_url":"promo-1","long_url":"https://example.org/"}`, 403, "wrong_key")
	create("promo", `{"short_url":"other","long_url":"https://example.org/"}`, 403, "wrong_key")
	create("counter", `{"short_url":"promo-1","long_url":"https://evil.example/"}`, 403, "wrong_key") // it counts them
	create("counter", `{"long_url":"https://evil.example/"}`, 403, "wrong_key")
	create("spring", `{"short_url":"promo-1","long_url":"https://evil.example/"}`, 403, "wrong_key")
	if r := (request{bearer: "Bearer counter"}).send(t, d, "/v1/clicks", `{"short_url":"promo-9","ip":"203.0.113.7"}`); r.status != http.StatusAccepted {
		t.Errorf("a click by a key that counts: %d %s", r.status, r.raw)
	}
	create("promo", `{"short_url":"promo-1","long_url":"javascript:alert(1)"}`, 400, "bad_long_url")
	create("promo", `{"short_url":"promo-1","long_url":"https://example.org/a"}`, 201, "")
	create("promo", `{"short_url":"promo-1","long_url":"https://example.org/b"}`, 409, "short_url_taken")
	create("promo", `{"short_url":"promo-2","long_url":"https://example.org/"}`, 201, "")
	create("promo", `{"short_url":"promo-3","long_url":"https://example.org/"}`, 429, "too_many_new_keys")
	create("campaign", `{"long_url":"https://example.org/"}`, 403, "wrong_key") // its key is for one name, which it has to say
	create("campaign", `{"short_url":"campaign","long_url":"`+d.url+`/promo-1"}`, 400, "bad_long_url")
	create("campaign", `{"short_url":"campaign","long_url":"https://example.org/"}`, 201, "")
	for key, want := range map[string]string{"service": "", "spring": "spring-"} { // made up within what the key is for
		r := d.do(t, http.MethodPost, "/v1/links", http.Header{"Authorization": {"Bearer " + key}}, strings.NewReader(`{"long_url":"https://example.org/"}`))
		var link struct {
			ShortURL string `json:"short_url"`
		}
		must(t, json.Unmarshal([]byte(r.raw), &link))
		if r.status != http.StatusCreated || !strings.HasPrefix(link.ShortURL, want) || len(link.ShortURL) != len(want)+7 {
			t.Errorf("made up for %s: %d %s", key, r.status, r.raw)
		}
	}

	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	follow := func(method, path string) (status int, location string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, d.url+path, nil)
		must(t, err)
		request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
		response, err := client.Do(request)
		must(t, err)
		must(t, response.Body.Close())
		return response.StatusCode, response.Header.Get("Location")
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if status, location := follow(method, "/promo-1"); status != http.StatusFound || location != "https://example.org/a" {
			t.Errorf("%s: %d %s", method, status, location)
		}
	}
	for _, path := range []string{"/unknown", "/promo-1/", "/promo-1/x", "/%70romo-1", "/.env", "/favicon.ico"} {
		if status, location := follow(http.MethodGet, path); status != http.StatusNotFound || location != "" {
			t.Errorf("%s: %d %s", path, status, location)
		}
	}
	if n := d.metric(t, `footfall_producer_refused_total{reason="not_found"}`); n != "6" {
		t.Errorf("%s refused, want 6", n)
	}
	if status, _ := follow(http.MethodPost, "/promo-1"); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", status)
	}
	d.close(t) // which writes what is queued
	clicks := slices.DeleteFunc(messages(t, d.broker, d.topics.Clicks), func(m kafka.Message) bool { return strings.Contains(string(m.Value), "promo-9") })
	if len(clicks) != 1 {
		t.Fatalf("%d clicks of redirects in Kafka, want 1", len(clicks))
	}
	if c, err := models.UnmarshalClick(clicks[0].Value, true); err != nil || c.ShortURL != "promo-1" || c.IP != "127.0.0.1" || c.Bot {
		t.Errorf("%s, %v", clicks[0].Value, err)
	}
}

// madeUpReferrers: following a link needs no key, so redirects are limited in new referrers as senders with a key are.
func madeUpReferrers(t *testing.T, b broker) {
	store := &linkStore{}
	store.all.Store("abc", "https://example.org/")
	d := startServerWith(t, b, store, func(cfg *configs.Producer) {
		cfg.Links.Enabled = true
		cfg.Limits.NewKeysPerMinute = 2
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i := range 6 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/abc", nil)
		must(t, err)
		request.Header.Set("Referer", fmt.Sprintf("https://r%d.example/", i%5)) // the first once more at the end: it is known
		response, err := client.Do(request)
		must(t, err)
		must(t, response.Body.Close())
		if response.StatusCode != http.StatusFound {
			t.Errorf("redirect %d: %s", i, response.Status)
		}
	}
	if got := d.metric(t, `footfall_producer_filtered_total{reason="too_many_new_keys"}`); got != "3" {
		t.Errorf("counted %q referrers that were left out, want 3", got)
	}
	d.close(t) // which writes what is queued
	referrers := map[string]int{}
	for _, m := range messages(t, d.broker, d.topics.Clicks) {
		c, err := models.UnmarshalClick(m.Value, true)
		must(t, err)
		referrers[c.Referrer]++
	}
	if len(referrers) != 3 || referrers["r0.example"] != 2 || referrers["r1.example"] != 1 || referrers[""] != 3 {
		t.Errorf("referrers in Kafka: %v", referrers)
	}
}
