package links

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"footfall/models"
)

// isAnswer checks that an error is a refusal with a reason.
func isAnswer(t *testing.T, err error) {
	t.Helper()
	var why *models.Invalid
	if !errors.As(err, &why) || why.Reason == "" {
		t.Errorf("%v has no reason", err)
	}
}

// leadsElsewhere checks that a target is a website, however a browser parses it.
func leadsElsewhere(t *testing.T, long string) {
	t.Helper()
	header := location(long)
	for i := range len(header) {
		if header[i] <= ' ' || header[i] > '~' || header[i] == '\\' {
			t.Fatalf("%q in the header for %q", header[i], long)
		}
	}
	small := strings.ToLower(header)
	rest, ok := strings.CutPrefix(small, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(small, "http://")
	}
	host, _, _ := strings.Cut(rest, "/")
	if !ok || host == "" || strings.HasPrefix(host, ":") || strings.ContainsAny(host[:strings.IndexAny(host+"?", "?#")], "@") {
		t.Fatalf("%q leads to %q", long, header)
	}
	before, err := url.Parse(long)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := url.Parse(header); err != nil || after.Hostname() != before.Hostname() || after.Path != before.Path {
		t.Fatalf("%q became %q: %v", long, header, err)
	}
}

// FuzzDecode is the body of POST /v1/links.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"short_url":"abc","long_url":"https://example.org/"}`))
	f.Add([]byte(`{"long_url":"https://bücher.example/\u00fc?q=%20#x"}`))
	f.Add([]byte(`{"short_url":"track","long_url":"javascript:alert(1)"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		want, err := decode(body)
		if err != nil {
			isAnswer(t, err)
			return
		}
		if want.ShortURL != "" && !Name(want.ShortURL) {
			t.Errorf("the name %q", want.ShortURL)
		}
		leadsElsewhere(t, want.LongURL)
		var plain map[string]string // as encoding/json reads it
		if err := json.Unmarshal(body, &plain); err != nil || plain["long_url"] != want.LongURL || plain["short_url"] != want.ShortURL {
			t.Errorf("%q was read as %+v: %v", body, want, err)
		}
	})
}

// FuzzTarget is a target without JSON around it, so that the fuzzer gets further.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		"https://example.org/", "http://[::1]:80/a?b#c", "HTTPS://EXAMPLE.org", "javascript:alert(1)", "//evil.example", "https://a@b/", "https:\\\\a", "https://a.example/%0d%0a", "http://sho.rt/x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, long string) {
		if err := checkTarget(long); err != nil {
			isAnswer(t, err)
			return
		}
		leadsElsewhere(t, long)
		if err := checkLoop(long, "http://sho.rt"); err != nil {
			isAnswer(t, err)
		} else if u, _ := url.Parse(long); strings.EqualFold(u.Host, "sho.rt") {
			t.Errorf("%q leads back", long)
		}
	})
}
