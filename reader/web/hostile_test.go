package web

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"footfall/configs"
)

// hostile are requests as they are on the wire, and what comes of them: a status and a reason, or the name that the store was asked for.
var hostile = []struct {
	target string
	status int
	want   string // the reason, or with 200 the name
}{
	// names are taken as they are
	{"/v1/stats/links/a%2Fb", 200, "a/b"},
	{"/v1/stats/links/%2E%2E%2F%2E%2E%2Fetc%2Fpasswd", 200, "../../etc/passwd"},
	{"/v1/stats/links/..", 200, ".."},
	{"/v1/stats/links/.", 200, "."},
	{"/v1/stats/links/a%252Fb", 200, "a%2Fb"},
	{"/v1/stats/links/a+b", 200, "a+b"},
	{"/v1/stats/links/'%20OR%20'1'='1", 200, "' OR '1'='1"},
	{"/v1/stats/links/%22;DROP%20TABLE%20urls;--", 200, `";DROP TABLE urls;--`},
	{"/v1/stats/links/%E2%80%AEcba", 200, "\u202ecba"},
	{"/v1/stats/links/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 200, "<script>alert(1)</script>"},
	{"/v1/stats/links/%0d%0aSet-Cookie:%20a=b", 200, "\r\nSet-Cookie: a=b"},
	{"/v1/stats/links/series", 200, "series"},
	{"/v1/stats/links/*", 200, "*"},
	{"/v1/stats/links/" + strings.Repeat("a", 128), 200, strings.Repeat("a", 128)},
	// names that no event can have had
	{"/v1/stats/links/a%00b", 400, "short_url_has_nul"},
	{"/v1/stats/links/%FF%FE", 400, "short_url_bad_utf8"},
	{"/v1/stats/links/" + strings.Repeat("a", 129), 400, "short_url_too_long"},
	{"/v1/stats/links/", 400, "missing_short_url"},
	{"/v1/stats/links//series", 400, "missing_short_url"},
	{"/v1/stats/sites/%00", 400, "siteId_has_nul"},
	// paths that are none
	{"/v1/stats/links/../sites", 404, "not_found"},
	{"/v1/stats/links/a/b/c/d", 404, "not_found"},
	{"/v1//stats/links/a", 404, "not_found"},
	{"/v1/stats/links/a/series/", 404, "not_found"},
	{"/%2e%2e/%2e%2e/etc/passwd", 404, "not_found"},
	{"/v1/%73tats/links/a", 404, "not_found"},
	{"/v1/", 404, "not_found"},
	{"/metrics", 404, "not_found"},
	{"/v1/stats/sites/s/top/feature3", 404, "unknown_feature"},
	{"/v1/stats/sites/s/top/feature1%00", 404, "unknown_feature"},
	{"/v1/stats/sites/s/values/siteId;--", 404, "unknown_feature"},
	{"/v1/stats/links/%zz", 400, ""},
	// parameters
	{"/v1/stats/sites/s?feature3=x", 400, "unknown_parameter"},
	{"/v1/stats/sites/s?Feature1=x", 400, "unknown_parameter"},
	{"/v1/stats/sites/s?%E2%80%AEx=1", 400, "unknown_parameter"},
	{"/v1/stats/sites/s?feature1=", 400, "missing_feature1"},
	{"/v1/stats/sites/s?feature1=a&feature1=b", 400, "repeated_parameter"},
	{"/v1/stats/sites/s?feature1=a&feature.feature1=b", 400, "repeated_parameter"},
	{"/v1/stats/sites/s?feature1=%00", 400, "feature1_has_nul"},
	{"/v1/stats/sites/s?feature1=" + strings.Repeat("a", 1025), 400, "feature1_too_long"},
	{"/v1/stats/sites/s?period=2018-10;feature1=x", 400, "bad_query"},
	{"/v1/stats/sites/s?period=%zz", 400, "bad_query"},
	{"/v1/stats/sites/s?period=2018-W54", 400, "bad_period"},
	{"/v1/stats/sites/s?period=99999-10", 400, "bad_period"},
	{"/v1/stats/sites/s?period=2018-10'--", 400, "bad_period"},
	{"/v1/stats/links?day=2018-02-30", 400, "bad_day"},
	{"/v1/stats/links?day=0001-01-01", 400, "bad_day"},
	{"/v1/stats/sites?month=2018-13", 400, "bad_month"},
	{"/v1/stats/links/a/series?by=second", 400, "bad_by"},
	{"/v1/stats/links/a/series?from=-1", 400, "bad_from"},
	{"/v1/stats/links/a/series?to=99999999-01-01", 400, "bad_to"},
	{"/v1/stats/links/a/series?fill=zero", 400, "bad_fill"},
	{"/v1/stats/links/a/series?fill=NaN&from=2018-10&to=2018-11", 400, "bad_fill"},
	{"/v1/stats/links/a/series?by=hour&fill=zero&from=1974-01-01&to=9999-01-01", 422, "too_much"},
	{"/v1/stats/links/a/countries?from=2018-10-01", 422, "not_kept"},
	{"/v1/stats/links/a/countries?limit=0", 400, "bad_limit"},
	{"/v1/stats/links/a/countries?limit=-5", 400, "bad_limit"},
	{"/v1/stats/links/a/countries?limit=99999999999999999999", 400, "bad_limit"},
	{"/v1/stats/links/a/countries?limit=1e3", 400, "bad_limit"},
	{"/v1/stats/links/a?format=csv", 406, "not_acceptable"},
	{"/v1/stats/links/a/series?format=../../etc/passwd", 406, "not_acceptable"},
	{"/v1/stats/sites/s/series?metric=visitors", 400, "bad_metric"},
	{"/v1/stats/sites/s/series?from=2018-10", 400, "missing_to"},
	{"/v1/stats/sites/s/series?to=2018-10", 400, "missing_from"},
	{"/v1/stats/links/a?key=secret", 400, "unknown_parameter"},
}

func TestHostileRequests(t *testing.T) {
	f := newFake()
	server := httptest.NewServer(newServer(t, f, open, nil))
	defer server.Close()
	for _, h := range hostile {
		f.asked = nil
		status, header, body := raw(t, server.Listener.Addr().String(), "GET "+h.target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if status != h.status {
			t.Errorf("%.80s: %d %s, want %d", h.target, status, body, h.status)
		}
		if h.status == 200 {
			if len(f.asked) == 0 || f.asked[0] != h.want {
				t.Errorf("%s: asked for %q, want %q", h.target, f.asked, h.want)
			}
		} else if got := reasonOf(t, strings.NewReader(body)); got != h.want {
			t.Errorf("%.80s: reason %q, want %q: %s", h.target, got, h.want, body)
		}
		if h.want == "" {
			continue // net/http answers what is no URL
		}
		for name, value := range securityHeaders {
			if header.Get(name) != value {
				t.Errorf("%.80s: %s is %q", h.target, name, header.Get(name))
			}
		}
		if header.Get("Set-Cookie") != "" || strings.ContainsAny(body, "<>\u202e\x00") || len(body) > 1000 {
			t.Errorf("%.80s: %v %q", h.target, header, body)
		}
	}
	if len(hostile) < 60 {
		t.Errorf("%d requests only", len(hostile))
	}
}

// raw sends bytes and reads an answer.
func raw(t *testing.T, addr, request string) (int, http.Header, string) {
	t.Helper()
	status, header, body, err := ask(addr, request)
	if err != nil {
		t.Fatal(err)
	}
	return status, header, body
}

// ask sends bytes and reads an answer until the connection ends.
func ask(addr, request string) (status int, header http.Header, body string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, nil, "", err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(all), err
}

// TestMethodsAndHosts are refused before anything is read.
func TestMethodsAndHosts(t *testing.T) {
	f := newFake()
	s := newServer(t, f, open, func(c *Config) { c.Hosts = []string{"stats.example"} })
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "FROB"} {
		w := send(s, method, "http://localhost/v1/stats/links/a")
		if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD, OPTIONS" || reasonOf(t, w.Body) != methodNotAllowed {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8082": 200, "127.0.0.1:8082": 200, "127.0.0.1": 200, "[::1]:8082": 200, "[::1]": 200,
		"stats.example": 200, "Stats.Example:443": 200, "evil.example": 421, "evil.example:8082": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "10.0.0.1:8082": 421, "0.0.0.0:8082": 421, "": 200, // no browser sends none
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/stats/links/a", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
}

func hashed(key string) []string { return []string{fmt.Sprintf("%x", sha256.Sum256([]byte(key)))} }

var guardedAccess = configs.ReadAccess{
	Readers: []configs.ReadGrant{
		{Site: "shop*", Links: "promo", KeyHashes: hashed("shops")},
		{Links: "*", KeyHashes: hashed("links")},
	},
	ShareSecrets: []string{strings.Repeat("s", 32)},
}
