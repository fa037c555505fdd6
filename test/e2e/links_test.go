package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/test/harness"
)

// TestALinkIsFollowed: clicks of people and of bots are counted apart, HEAD requests are not counted, and clicks just before the process
// stopped are counted after a restart.
func TestALinkIsFollowed(t *testing.T) {
	d := newEmbedded(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	do := func(method, path, agent, body string, want int) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", agent)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Fatalf("%s %s: %s, want %d", method, path, response.Status, want)
		}
	}
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	do(http.MethodGet, "/abc", firefox, "", http.StatusNotFound)
	do(http.MethodPost, "/v1/links", firefox, `{"short_url":"abc","long_url":"https://example.org/"}`, http.StatusCreated)
	do(http.MethodPost, "/v1/links", firefox, `{"short_url":"abc","long_url":"https://example.org/"}`, http.StatusOK)
	do(http.MethodPost, "/v1/links", firefox, `{"short_url":"abc","long_url":"https://example.com/"}`, http.StatusConflict)
	const people, bots = 200, 30
	for range people {
		do(http.MethodGet, "/abc", firefox, "", http.StatusFound)
		do(http.MethodHead, "/abc", firefox, "", http.StatusFound)
	}
	for range bots {
		do(http.MethodGet, "/abc", "SomeBot/1.0 (+https://bot.example)", "", http.StatusFound)
	}
	stop(t, d.process) // at once: queued clicks must be in the log

	d.restart(t)
	harness.Within(t, time.Minute, "counting after the restart", func() error {
		var bot int64
		if err := d.clicked.QueryRow("SELECT coalesce(sum(value), 0) FROM " + models.BotCounter).Scan(&bot); err != nil {
			return err
		}
		if n := d.clicks(t, "abc"); n != people || bot != bots {
			return fmt.Errorf("%d clicks and %d of bots are counted, want %d and %d", n, bot, people, bots)
		}
		return nil
	})
	do(http.MethodHead, "/abc", firefox, "", http.StatusFound)
}

// restart starts the process again on the same data.
func (d *embedded) restart(t *testing.T) {
	t.Helper()
	d.process = start(t, d.command(t, "again"))
	var err error
	if d.url, err = d.process.Expect(patiently(t), greeting); err != nil {
		t.Fatal(err)
	}
}
