package main

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/reader/access"
)

var at = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func TestEndOf(t *testing.T) {
	for text, want := range map[string]string{
		"30d": "2026-12-16T12:00:00Z", "12h": "2026-11-17T00:00:00Z", "90m": "2026-11-16T13:30:00Z", "2026-11-16": "2026-11-17T00:00:00Z",
		"2026-12-31": "2027-01-01T00:00:00Z", "2026-12-31T18:00:00Z": "2026-12-31T18:00:00Z", "2026-12-31T18:00:00+01:00": "2026-12-31T17:00:00Z",
	} {
		if got, err := endOf(text, at); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "want a time", "d": "want a time", "-1d": "want a time", "99999d": "want a time", "tomorrow": "want a time", "2026-13-01": "want a time",
		"0d": "has passed", "-1h": "has passed", "2026-11-15": "has passed", "2026-11-16T12:00:00Z": "has passed",
	} {
		if got, err := endOf(text, at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

// TestShare: the link that is printed lets in, for what it names and nothing else.
func TestShare(t *testing.T) {
	secret := strings.Repeat("s", 32)
	t.Setenv("FOOTFALL_ACCESS_SHARE_SECRETS", secret)
	who, err := access.New(configs.ReadAccess{ShareSecrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) access.Holder {
		t.Helper()
		var out bytes.Buffer
		if err := command(t.Context(), append([]string{"share", "--until", "1h"}, args...), &out, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), want+"?share=") || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s, want %s", out.String(), want)
		}
		u, err := url.Parse(strings.TrimSpace(out.String()))
		if err != nil {
			t.Fatal(err)
		}
		h, err := who.Of("", u.Query().Get("share"), time.Now())
		if err != nil {
			t.Errorf("%s: %v", out.String(), err)
		}
		return h
	}
	if h := f("http://127.0.0.1:8082/sites/shop", "--site", "shop"); !h.Site("shop") || h.Link("shop") {
		t.Error("it is not for the site")
	}
	if h := f("https://stats.example/links/a%2Fb%3Fc", "--link", "a/b?c", "--url", "https://stats.example/"); !h.Link("a/b?c") || h.Site("a/b?c") {
		t.Error("it is not for the link")
	}
}

func TestShareMistakes(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := command(t.Context(), append([]string{"share"}, args...), &out, &out); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%q: %v %s; want an error with %q", args, err, out.String(), want)
		}
	}
	f("--site or --link", "--until", "1h")
	f("--site or --link", "--until", "1h", "--site", "a", "--link", "b")
	f("share needs --until, such as 30d", "--site", "a")
	f("want a time", "--site", "a", "--until", "soon")
	f("has passed", "--site", "a", "--until", "2020-01-01")
	f("access.share_secrets is empty", "--site", "a", "--until", "1h")
	f("such a long name", "--link", strings.Repeat("a", 129), "--until", "1h")
	t.Setenv("FOOTFALL_ACCESS_SHARE_SECRETS", strings.Repeat("s", 32))
	f("access.share_longest", "--site", "a", "--until", "91d")
	t.Setenv("FOOTFALL_ACCESS_SHARE_SECRETS", "short")
	f("access.share_secrets", "--site", "a", "--until", "1h")
}
