package enrich

import (
	"net/http"
	"strings"
	"testing"
)

const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

func TestBotsByTheirAgent(t *testing.T) {
	e := open(t, Options{})
	f := func(want bool, agent string) {
		t.Helper()
		if got := e.Bot(http.Header{"User-Agent": {agent}}); got != want {
			t.Errorf("%q: %v", agent, got)
		}
	}
	f(false, chrome)
	f(false, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1")
	f(false, "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
	f(false, "Mozilla/5.0 (Linux; Android 9; CUBOT X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36")
	for _, agent := range []string{
		"", "-", "curl/8.0", "Wget/1.21", "python-requests/2.31", "Go-http-client/1.1", "axios/1.6", "Bytespider", "GPTBot/1.0",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
		"facebookexternalhit/1.1", "WhatsApp/2.23", "Twitterbot/1.0", "TelegramBot (like TwitterBot)",
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36",
	} {
		f(true, agent)
	}
	e.Bot(http.Header{"User-Agent": {strings.Repeat("\xff(\x00", 5000)}}) // garbage does no harm
	if !e.Bot(http.Header{}) {
		t.Error("no agent at all is not a browser")
	}
}

func TestPrefetchAndPreview(t *testing.T) {
	e := open(t, Options{})
	f := func(want bool, name, value string) {
		t.Helper()
		h := http.Header{"User-Agent": {chrome}}
		h.Set(name, value)
		if got := e.Bot(h); got != want {
			t.Errorf("%s: %s: %v", name, value, got)
		}
	}
	f(true, "Purpose", "prefetch")
	f(true, "Sec-Purpose", "prefetch")
	f(true, "Sec-Purpose", "prefetch;prerender")
	f(true, "Sec-Purpose", "prefetch;anonymous-client-ip")
	f(true, "X-Moz", "Prefetch")
	f(true, "X-Purpose", "preview")
	f(false, "Purpose", "")
	f(false, "Sec-Fetch-Dest", "document")
	f(false, "X-Other", "prefetch")
}

func BenchmarkBot(b *testing.B) {
	e, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	for name, agent := range map[string]string{"browser": chrome, "garbage": strings.Repeat("aZ9 (b;c)", 1000)} {
		h := http.Header{"User-Agent": {agent}}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e.Bot(h)
			}
		})
	}
}
