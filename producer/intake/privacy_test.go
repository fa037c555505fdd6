package intake_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/models"
)

// inKafka are the clicks in Kafka, by id.
func inKafka(t *testing.T, d *runningServer) map[string]*models.Click {
	t.Helper()
	clicks := map[string]*models.Click{}
	for _, m := range messages(t, d.broker, d.topics.Clicks) {
		c, err := models.UnmarshalClick(m.Value, true)
		if err != nil {
			t.Fatalf("%s: %v", m.Value, err)
		}
		clicks[c.ID] = c
	}
	return clicks
}

// rotatedVisitors: an address is one visitor in a month, by the time of the click, not of the request.
func rotatedVisitors(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) {
		cfg.Privacy.IP, cfg.Privacy.Secret, cfg.Privacy.Rotate = "hashed", "a secret of 16 bytes or more", "monthly"
	})
	for id, at := range map[string]string{"first": "2018-10-01T00:00:00Z", "last": "2018-10-31T23:59:59Z", "next": "2018-11-01T00:00:00Z"} {
		ts, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"id":"%s","short_url":"a","ip":"203.0.113.7","ts":%d}`, id, ts.UnixMilli())
		if r := d.post(t, "/v1/clicks", "", body); r.status != http.StatusAccepted {
			t.Errorf("%d %s", r.status, r.raw)
		}
	}
	if r := d.post(t, "/v1/clicks", "", `{"id":"now","short_url":"a","ip":"203.0.113.7"}`); r.status != http.StatusAccepted {
		t.Errorf("%d %s", r.status, r.raw)
	}
	c := inKafka(t, d)
	if len(c) != 4 || c["first"].IP != c["last"].IP || c["next"].IP == c["last"].IP || c["now"].IP == c["next"].IP || !strings.HasPrefix(c["last"].IP, "2018-10:") {
		t.Errorf("visitors %v", c)
	}
}

// discreet: in Kafka a click has no user agent, the host of its referrer, and the network of its address; its country is found by the
// whole address, and bots and names such as the browser are found by the user agent.
func discreet(t *testing.T, b broker) {
	store := &linkStore{}
	store.all.Store("abc", "https://target.example/")
	d := startServerWith(t, b, store, func(cfg *configs.Producer) {
		cfg.Privacy.IP = "truncated"
		cfg.Links.Enabled = true
	})
	const person, secret = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "s3cret"
	person1 := http.Header{"User-Agent": {person}, "Referer": {"https://me:s3cret@news.example:8080/s3cret?token=s3cret"}}
	crawler := http.Header{"User-Agent": {"Googlebot/2.1 s3cret"}}
	get := func(path string, header http.Header) { d.do(t, http.MethodGet, path, header, nil) }
	get("/pixel.gif?short_url=abc&id=pixel&referrer=news.example%2Fs3cret%3Ftoken%3Ds3cret", person1)
	get("/pixel.gif?short_url=abc&id=crawler", crawler)
	follow(t, d.url+"/abc", person1)
	batch := "[" + strings.Join([]string{
		`{"id":"url","short_url":"abc","ip":"8.8.8.8","ua":"` + person + `","referrer":"https://news.example/s3cret"}`,
		`{"id":"path","short_url":"abc","ip":"8.8.8.8","referrer":"news.example/s3cret"}`,
		`{"id":"login","short_url":"abc","ip":"8.8.8.8","referrer":"me:s3cret@news.example"}`,
		`{"id":"name","short_url":"abc","ip":"8.8.8.8","referrer":"News.example"}`,
		`{"id":"bot","short_url":"abc","ip":"8.8.8.8","ua":"curl/8 s3cret"}`,
	}, ",") + "]"
	if r := d.post(t, "/v1/clicks", "", batch); r.status != http.StatusAccepted && r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	if r := d.post(t, "/v1/clicks", "", `{"short_url":"abc","ip":"8.8.8.8","ua":"`+strings.Repeat("u", models.MaxUA+1)+`"}`); r.Error != "ua_too_long" {
		t.Errorf("a user agent that is too long = %d %s: what is dropped is still checked", r.status, r.raw)
	}
	d.close(t) // which writes the click of the redirect
	if c := inKafka(t, d); len(c) != 8 {
		t.Errorf("%d clicks in Kafka, want 8: %v", len(c), c)
	}
	for _, m := range messages(t, d.broker, d.topics.Clicks) {
		if bytes.Contains(m.Value, []byte(secret)) || bytes.Contains(m.Value, []byte(`"ua"`)) || bytes.Contains(m.Value, []byte("8.8.8.8")) {
			t.Errorf("in Kafka: %s", m.Value)
		}
	}
	for id, c := range inKafka(t, d) {
		want, byAgent := models.Click{Referrer: "news.example", IP: "8.8.8.0", Country: "US"}, models.Click{UA: person}
		tells(t, &byAgent)
		switch id {
		case "pixel":
			want.IP, want.Country, want.Agent = "127.0.0.0", "", byAgent.Agent
		case "crawler":
			want = models.Click{IP: "127.0.0.0", Bot: true}
		case "login":
			want.Referrer = ""
		case "name":
			want.Referrer = "News.example"
		case "bot":
			want.Referrer, want.Bot = "", true
		case "url":
			want.Agent = byAgent.Agent
		case "path":
		default: // the redirect, whose id is random
			want.IP, want.Country, want.Agent = "127.0.0.0", c.Country, byAgent.Agent
		}
		if want.V, want.ID, want.ShortURL, want.TS = c.V, c.ID, c.ShortURL, c.TS; *c != want {
			t.Errorf("%s: %+v, want %+v", id, c, want)
		}
	}
}

// follow requests a link without following the redirect.
func follow(t *testing.T, url string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	request.Header = header
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != http.StatusFound {
		t.Errorf("%s = %s", url, response.Status)
	}
}
