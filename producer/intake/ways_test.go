package intake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/gif"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/enrich"
)

// beaconsAndPixels are what a page can send without a library.
func beaconsAndPixels(t *testing.T, b broker) {
	d := startServer(t, b, func(c *configs.Producer) { c.Privacy.KeepUserAgent = true })
	if r := d.post(t, "/track?siteId=s", plainType, "guid=g&feature1=x&id=beacon"); r.status != http.StatusAccepted {
		t.Errorf("a beacon = %d %s", r.status, r.raw)
	}
	zipped := http.Header{"Content-Type": {formType}, "Content-Encoding": {"gzip"}}
	if r := d.do(t, http.MethodPost, "/track?siteId=s", zipped, strings.NewReader(zip("guid=g&id=zipped"))); r.status != http.StatusAccepted {
		t.Errorf("a compressed form = %d %s", r.status, r.raw)
	}
	browser := http.Header{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}}
	for _, query := range []string{"siteId=s&guid=g&feature1=a%20b&id=seen", "short_url=abc&referrer=https%3A%2F%2FNews.example%3A8080%2Fa%3Fq%3D1&id=clicked&key=any"} {
		r := d.do(t, http.MethodGet, "/pixel.gif?"+query, browser, nil)
		if r.status != http.StatusOK || len(r.raw) != 43 || r.header.Get("Content-Type") != "image/gif" || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("pixel %s = %d %q %v", query, r.status, r.raw, r.header)
		}
		if picture, err := gif.Decode(bytes.NewReader([]byte(r.raw))); err != nil || picture.Bounds().Dx() != 1 {
			t.Errorf("the picture: %v", err)
		}
	}
	if r := d.do(t, http.MethodHead, "/pixel.gif?siteId=s&guid=g", nil, nil); r.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD of a pixel = %d", r.status)
	}
	for name, value := range map[string]string{"Sec-Purpose": "prefetch;prerender", "X-Purpose": "preview"} {
		early := http.Header{"Content-Type": {formType}, name: {value}}
		for _, r := range []reply{
			d.do(t, http.MethodPost, "/track?siteId=s", early, strings.NewReader("guid=g&id=early")),
			d.do(t, http.MethodGet, "/pixel.gif?siteId=s&guid=g&id=early", early, nil),
		} {
			if r.status != http.StatusNoContent || r.raw != "" {
				t.Errorf("fetched in advance = %d %q", r.status, r.raw)
			}
		}
	}
	if got := d.metric(t, `footfall_producer_filtered_total{reason="prefetch"}`); got != "4" {
		t.Errorf("counted %q visits that nobody saw, want 4", got)
	}
	in := ids(t, d.broker, d.topics.Visits)
	if len(in) != 3 || in["beacon"] != 1 || in["zipped"] != 1 || in["seen"] != 1 {
		t.Errorf("visits in Kafka: %v", in)
	}
	clicks := messages(t, d.broker, d.topics.Clicks)
	if len(clicks) != 1 {
		t.Fatalf("%d clicks", len(clicks))
	}
	c, err := models.UnmarshalClick(clicks[0].Value, true)
	if err != nil || c.ID != "clicked" || c.IP != "127.0.0.1" || c.Referrer != "news.example" || c.Bot || c.UA != browser.Get("User-Agent") {
		t.Errorf("%s, %v", clicks[0].Value, err)
	}
}

// namedFeatures: every route takes the configured names of features as fields, and no others.
func namedFeatures(t *testing.T, b broker) {
	d := startServer(t, b, func(c *configs.Producer) { c.Features = []string{"referrer", "page", "device"} })
	const event = `"siteId":"s","guid":"g","ts":1522802128000,"referrer":"r","device":"phone"}`
	for id, r := range map[string]reply{
		"json":  d.post(t, "/v1/visits", jsonType, `{"id":"json",`+event),
		"form":  d.post(t, "/track?siteId=s", formType, "id=form&guid=g&timestamp=1522802128&referrer=r&device=phone"),
		"pixel": d.do(t, http.MethodGet, "/pixel.gif?id=pixel&siteId=s&guid=g&timestamp=1522802128&referrer=r&page=&device=phone", http.Header{}, nil),
	} {
		if r.status/100 != 2 {
			t.Errorf("%s = %d %s", id, r.status, r.raw)
		}
	}
	for _, m := range messages(t, d.broker, d.topics.Visits) {
		id, _, _ := strings.Cut(strings.TrimPrefix(string(m.Value), `{"v":1,"id":"`), `"`)
		if want := `{"v":1,"id":"` + id + `",` + event; string(m.Value) != want {
			t.Errorf("in Kafka: %s, want %s", m.Value, want)
		}
	}
	if in := ids(t, d.broker, d.topics.Visits); len(in) != 3 {
		t.Errorf("visits in Kafka: %v", in)
	}
	for _, r := range []reply{
		d.post(t, "/v1/visits", jsonType, `{"siteId":"s","guid":"g","feature1":"x"}`),
		d.post(t, "/track?siteId=s", formType, "guid=g&feature1=x"),
		d.do(t, http.MethodGet, "/pixel.gif?siteId=s&guid=g&feature1=x", http.Header{}, nil),
	} {
		if r.status != http.StatusBadRequest || r.Error != "unknown_field" {
			t.Errorf("a feature of other tables = %d %s", r.status, r.raw)
		}
	}
	if r := d.do(t, http.MethodGet, "/track.js", http.Header{}, nil); !strings.Contains(r.raw, `["referrer","page","device"]`) {
		t.Errorf("the script does not know the features: %s", r.raw)
	}

	if r := d.do(t, http.MethodGet, "/pixel.gif?short_url=abc&amount=-1999", http.Header{}, nil); r.status != http.StatusOK {
		t.Errorf("a pixel with an amount = %d %s", r.status, r.raw)
	}
	if r := d.do(t, http.MethodGet, "/pixel.gif?short_url=abc&amount=19.99", http.Header{}, nil); r.Error != "bad_amount" {
		t.Errorf("a pixel with a fraction = %d %s", r.status, r.raw)
	}
	if r := d.post(t, "/v1/clicks", jsonType, `{"short_url":"abc","ip":"203.0.113.7","amount":0}`); r.status != http.StatusAccepted {
		t.Errorf("a click with an amount = %d %s", r.status, r.raw)
	}
	amounts := map[int64]int{}
	for _, m := range messages(t, d.broker, d.topics.Clicks) {
		if c, err := models.UnmarshalClick(m.Value, true); err != nil || c.Amount == nil {
			t.Errorf("in Kafka: %s, %v", m.Value, err)
		} else {
			amounts[*c.Amount]++
		}
	}
	if len(amounts) != 2 || amounts[-1999] != 1 || amounts[0] != 1 {
		t.Errorf("amounts in Kafka: %v", amounts)
	}
}

// identity: the id of an event is the sender's, from the header or the event.
func identity(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	f := func(path, contentType, header, body string, status int, want string) {
		t.Helper()
		headers := http.Header{"Content-Type": {contentType}, "Idempotency-Key": {header}}
		if header == "-" {
			headers.Del("Idempotency-Key")
		}
		r := d.do(t, http.MethodPost, path, headers, strings.NewReader(body))
		if r.status != status || r.ID+r.Error != want {
			t.Errorf("Idempotency-Key %q with %s = %d %s, want %d %s", header, body, r.status, r.raw, status, want)
		}
	}
	f("/v1/visits", jsonType, "mine", `{"siteId":"s","guid":"g"}`, 202, "mine")
	f("/v1/visits", jsonType, "mine", `{"siteId":"s","guid":"g","id":"mine"}`, 202, "mine")
	f("/v1/visits", jsonType, "-", `{"siteId":"s","guid":"g","id":"its"}`, 202, "its")
	f("/v1/visits", jsonType, "", `{"siteId":"s","guid":"g","id":"its"}`, 400, "bad_id")
	f("/v1/visits", jsonType, "mine", `{"siteId":"s","guid":"g","id":"its"}`, 400, "conflicting_id")
	f("/v1/visits", jsonType, "mine", `[{"siteId":"s","guid":"g"}]`, 400, "conflicting_id")
	f("/v1/visits", jsonType, strings.Repeat("x", 129), `{"siteId":"s","guid":"g"}`, 400, "id_too_long")
	f("/v1/visits", jsonType, "\xff", `{"siteId":"s","guid":"g"}`, 400, "id_bad_utf8")
	f("/v1/clicks", jsonType, "click", `{"short_url":"abc","ip":"203.0.113.7"}`, 202, "click")
	f("/track?siteId=s", formType, "form", "guid=g", 202, "form")
	f("/track?siteId=s", formType, "form", "guid=g&id=other", 400, "conflicting_id")
	twice := http.Header{"Idempotency-Key": {"a", "b"}}
	if r := d.do(t, http.MethodPost, "/v1/visits", twice, strings.NewReader(`{"siteId":"s","guid":"g"}`)); r.Error != "repeated_field" {
		t.Errorf("two keys = %d %s", r.status, r.raw)
	}
	if in := ids(t, d.broker, d.topics.Visits); in["mine"] != 2 || in["its"] != 1 || in["form"] != 1 || len(in) != 3 {
		t.Errorf("in Kafka: %v", in)
	}
}

// times: late events are accepted up to the configured age, events from the future are not.
func times(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.Time.MaxAge = 24 * time.Hour })
	f := func(ago time.Duration, want string) {
		t.Helper()
		at := time.Now().Add(-ago)
		for path, body := range map[string]string{
			"/v1/visits": fmt.Sprintf(`{"siteId":"s","guid":"g","ts":%d}`, at.UnixMilli()),
			"/v1/clicks": fmt.Sprintf(`{"short_url":"abc","ip":"203.0.113.7","ts":%d}`, at.UnixMilli()),
			"/track":     fmt.Sprintf("siteId=s&guid=g&timestamp=%d", at.Unix()),
		} {
			if r := d.post(t, path, "", body); r.Error != want {
				t.Errorf("%s, %v ago = %d %s, want %q", path, ago, r.status, r.raw, want)
			}
		}
	}
	f(0, "")
	f(-4*time.Minute, "")
	f(-6*time.Minute, "timestamp_in_future")
	f(-1000*time.Hour, "timestamp_in_future")
	f(23*time.Hour, "")
	f(25*time.Hour, "too_old")
	if r := d.post(t, "/v1/visits", jsonType, `{"siteId":"s","guid":"g","ts":253402300799999}`); r.Error != "timestamp_in_future" {
		t.Errorf("the end of the year 9999 = %d %s", r.status, r.raw)
	}
}

// filledClicks: missing fields of a click are taken from the request of the visitor itself, never from that of a service.
func filledClicks(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) {
		cfg.HTTP.TrustedProxies = []string{"127.0.0.0/8", "10.0.0.0/8"}
		cfg.Enrichment.CountryHeader = "CF-IPCountry"
		cfg.Privacy.KeepUserAgent = true
	})
	const person = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	f := func(header http.Header, body string, want models.Click) {
		t.Helper()
		r := d.do(t, http.MethodPost, "/v1/clicks", header, strings.NewReader(body))
		if r.status != http.StatusAccepted {
			t.Fatalf("%s = %d %s", body, r.status, r.raw)
		}
		for _, m := range messages(t, d.broker, d.topics.Clicks) {
			var got models.Click
			if err := json.Unmarshal(m.Value, &got); err != nil {
				t.Fatal(err)
			}
			if got.ID != r.ID {
				continue
			}
			want.ID, want.V, want.TS, want.ShortURL = got.ID, got.V, got.TS, got.ShortURL
			if want.UA != "" {
				tells(t, &want)
			}
			if got != want || string(m.Key) != got.KafkaKey() {
				t.Errorf("%v %s\n got %+v\nwant %+v", header, body, got, want)
			}
		}
	}
	visitor := http.Header{"X-Forwarded-For": {"1.1.1.1, 8.8.8.8, 10.0.0.1"}, "User-Agent": {person}}
	f(visitor, `{"short_url":"a"}`, models.Click{IP: "8.8.8.8", Country: "US", UA: person})
	f(visitor, `{"short_url":"a","country":"it","bot":true,"ua":"x"}`, models.Click{IP: "8.8.8.8", Country: "IT", UA: "x", Bot: true})
	f(http.Header{"X-Forwarded-For": {"2001:db8::1"}, "User-Agent": {person}, "Cf-Ipcountry": {"FR"}}, `{"short_url":"a"}`,
		models.Click{IP: "2001:db8::", Country: "FR", UA: person})
	f(http.Header{"User-Agent": {"Googlebot/2.1 (+http://www.google.com/bot.html)"}}, `{"short_url":"a"}`,
		models.Click{IP: "127.0.0.1", UA: "Googlebot/2.1 (+http://www.google.com/bot.html)", Bot: true})
	f(http.Header{"User-Agent": {"Googlebot/2.1"}}, `{"short_url":"a","bot":false}`, models.Click{IP: "127.0.0.1", UA: "Googlebot/2.1"})
	f(http.Header{"User-Agent": {person}, "Sec-Purpose": {"prefetch"}}, `{"short_url":"a"}`, models.Click{IP: "127.0.0.1", UA: person, Bot: true})
	f(http.Header{"User-Agent": {strings.Repeat("Mozilla/5.0 é\xff", 100)}}, `{"short_url":"a","bot":false}`,
		models.Click{IP: "127.0.0.1", UA: strings.ToValidUTF8(strings.Repeat("Mozilla/5.0 é\uFFFD", 100)[:1024], "")})
	// A service that reports others' clicks.
	service := http.Header{"User-Agent": {"Go-http-client/1.1"}, "Cf-Ipcountry": {"DE"}}
	f(service, `{"short_url":"a","ip":"203.0.113.7"}`, models.Click{IP: "203.0.113.7"})
	f(service, `{"short_url":"a","ip":"8.8.8.8","ua":"curl/8.5.0","referrer":"https://News.example/a?b=c"}`,
		models.Click{IP: "8.8.8.8", Country: "US", UA: "curl/8.5.0", Bot: true, Referrer: "news.example"})
	f(service, `{"short_url":"a","ip":"8.8.8.8","ua":"curl/8.5.0","bot":false,"referrer":"As Sent"}`,
		models.Click{IP: "8.8.8.8", Country: "US", UA: "curl/8.5.0", Referrer: "As Sent"})
	f(service, `{"short_url":"a","ip":"203.0.113.7","ua":"`+person+`"}`,
		models.Click{IP: "203.0.113.7", UA: person})
}

// tells fills in what a click's user agent tells, as tests of enrich have it.
func tells(t *testing.T, c *models.Click) {
	t.Helper()
	e, err := enrich.New(enrich.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Agent(c.UA).Fill(c); c.Bot != (c.Agent == models.Agent{}) {
		t.Errorf("%q tells %+v", c.UA, c.Agent)
	}
}

// hashedVisitors: with hashed addresses none gets into Kafka.
func hashedVisitors(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) {
		cfg.Privacy.IP, cfg.Privacy.Secret = "hashed", "a secret of 16 bytes or more"
	})
	for _, body := range []string{`{"short_url":"a","ip":"203.0.113.7"}`, `{"short_url":"a","ip":"::ffff:203.0.113.7"}`, `{"short_url":"a"}`} {
		if r := d.post(t, "/v1/clicks", "", body); r.status != http.StatusAccepted {
			t.Errorf("%d %s", r.status, r.raw)
		}
	}
	keys := map[string]int{}
	for _, m := range messages(t, d.broker, d.topics.Clicks) {
		keys[string(m.Key)]++
		if all := string(m.Key) + string(m.Value); strings.Contains(all, "203.0.113.7") || strings.Contains(all, "127.0.0.1") {
			t.Errorf("an address: %s %s", m.Key, m.Value)
		}
	}
	if len(keys) != 2 {
		t.Errorf("visitors: %v, want two", keys)
	}
}
