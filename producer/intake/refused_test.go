package intake_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// badRequest is a request that must be refused.
type badRequest struct {
	path, contentType, body string
	status                  int
	reason                  string
}

// form, visit and click make bad requests to the three routes, which must be answered with 400.
func form(body, reason string) badRequest {
	return badRequest{"/track?siteId=s", formType, body, http.StatusBadRequest, reason}
}

func visit(body, reason string) badRequest {
	return badRequest{"/v1/visits", jsonType, body, http.StatusBadRequest, reason}
}

func click(body, reason string) badRequest {
	return badRequest{"/v1/clicks", jsonType, body, http.StatusBadRequest, reason}
}

// long is one byte more than n, ending in a character of two bytes.
func long(n int) string { return strings.Repeat("x", n-1) + "è" }

var badBodies = []badRequest{
	form("", "missing_guid"),
	form("timestamp=1522802128", "missing_guid"),
	form("guid=", "missing_guid"),
	form("guid="+long(128), "guid_too_long"),
	form("guid=%FF", "guid_bad_utf8"),
	form("guid=a%00b", "guid_has_nul"),
	form("guid=g&feature1="+long(1024), "feature1_too_long"),
	form("guid=g&feature2=%C3%28", "feature2_bad_utf8"),
	form("guid=g&timestamp=yesterday", "bad_timestamp"),
	form("guid=g&timestamp=1522802128.5", "bad_timestamp"),
	form("guid=g&timestamp=1522802128000", "bad_timestamp"), // milliseconds
	form("guid=g&timestamp=99999999", "bad_timestamp"),      // 1973
	form("guid=g&timestamp=-1", "bad_timestamp"),
	form("guid=g&timestamp=9223372036854775807", "bad_timestamp"),
	form("guid=g&timestamp=18446744073709551616", "bad_timestamp"),
	form("guid=g&timestamp=-9223372036854775808", "bad_timestamp"),
	form("guid=%zz", "bad_form"),
	form("guid=g;feature1=x", "bad_form"),
	form("guid=g&guid=h", "repeated_field"),
	form("guid=g&siteId=other", "repeated_field"),
	form("guid=g&feautre1=x", "unknown_field"),
	form("GUID=g", "unknown_field"),
	form("guid=g&id="+long(128), "id_too_long"),
	form(`{"guid":"g"}`, "unknown_field"),
	{"/track", formType, "guid=g", http.StatusBadRequest, "missing_site_id"},
	{"/track?siteId=", formType, "guid=g", http.StatusBadRequest, "missing_site_id"},
	{"/track?siteId=" + long(128), formType, "guid=g", http.StatusBadRequest, "site_id_too_long"},
	{"/track?siteId=%FF", formType, "guid=g", http.StatusBadRequest, "site_id_bad_utf8"},
	{"/track?siteId=%zz", formType, "guid=g", http.StatusBadRequest, "bad_form"},
	{"/track?siteId=s&siteId=s", formType, "guid=g", http.StatusBadRequest, "repeated_field"},
	{"/track?siteId=s&guid=g", formType, "", http.StatusBadRequest, "unknown_field"},

	visit("", "bad_json"),
	visit("{", "bad_json"),
	visit("[]", "empty_batch"),
	visit(`"visit"`, "bad_json"),
	visit(`{} {}`, "bad_json"),
	visit("null", "missing_site_id"),
	visit("{}", "missing_site_id"),
	visit(`{"siteId":"s"}`, "missing_guid"),
	visit(`{"siteId":"s","guid":"g","guid":"h"}`, "repeated_field"),
	visit(`{"siteId":"s","guid":"g","gu\u0069d":"g"}`, "repeated_field"),
	visit(`{"siteId":"s","GUID":"g"}`, "unknown_field"),
	visit(`{"siteid":"s","guid":"g"}`, "unknown_field"),
	visit(`{"ſiteId":"s","guid":"g"}`, "unknown_field"),
	visit(`{"siteId":"s","guid":"g","tſ":1522802128000}`, "unknown_field"),
	click(`{"short_url":"a","Bot":true}`, "unknown_field"),
	click(`{"short_url":"a","bot":true,"bot":null}`, "repeated_field"),
	visit(`{"siteId":"s","guid":7}`, "bad_guid"),
	visit(`{"siteId":["s"],"guid":"g"}`, "bad_site_id"),
	visit(`{"siteId":"s","guid":"g","ts":"now"}`, "bad_timestamp"),
	visit(`{"siteId":"s","guid":"g","ts":1522802128000.5}`, "bad_timestamp"),
	visit(`{"siteId":"s","guid":"g","ts":1522802128}`, "bad_timestamp"), // seconds
	visit(`{"siteId":"s","guid":"g","ts":253402300800000}`, "bad_timestamp"),
	visit(`{"siteId":"s","guid":"g","ts":1e30}`, "bad_timestamp"),
	visit(`{"siteId":"s","guid":"g","v":2}`, "unknown_version"),
	visit(`{"siteId":"s","guid":"g","v":-1}`, "unknown_version"),
	visit(`{"siteId":"s","guid":"g","feature3":"x"}`, "unknown_field"),
	visit(`{"siteId":"s","guid":"g","id":"`+long(128)+`"}`, "id_too_long"),
	visit(`{"siteId":"s","guid":"a\u0000b"}`, "guid_has_nul"),
	visit("{\"siteId\":\"s\",\"guid\":\"\xff\"}", "bad_utf8"),
	visit(`{"siteId":"s","guid":"\ud800"}`, "bad_utf8"),

	click(`{"ip":"203.0.113.7"}`, "missing_short_url"),
	click(`{"short_url":"abc","ip":"203.0.113.256"}`, "bad_ip"),
	click(`{"short_url":"abc","ip":"203.0.113.07"}`, "bad_ip"),
	click(`{"short_url":"abc","ip":"203.0.113.7:80"}`, "bad_ip"),
	click(`{"short_url":"abc","ip":" 203.0.113.7"}`, "bad_ip"),
	click(`{"short_url":"abc","ip":"fe80::1%eth0"}`, "bad_ip"),
	click(`{"short_url":"abc","ip":"localhost"}`, "bad_ip"),
	click(`{"short_url":"abc","ip":7}`, "bad_ip"),
	click(`{"short_url":"abc","ip":"203.0.113.7","country":"ITA"}`, "bad_country"),
	click(`{"short_url":"abc","ip":"203.0.113.7","country":"1T"}`, "bad_country"),
	click(`{"short_url":"abc","ip":"203.0.113.7","country":"uſ"}`, "bad_country"), // whose capital letters are US
	click(`{"short_url":"abc","ip":"203.0.113.7","bot":"yes"}`, "bad_bot"),
	click(`{"short_url":"abc","ip":"203.0.113.7","amount":19.99}`, "bad_amount"),
	click(`{"short_url":"abc","ip":"203.0.113.7","amount":1000000000001}`, "bad_amount"),
	click(`{"short_url":"`+long(128)+`","ip":"203.0.113.7"}`, "short_url_too_long"),
	click(`{"short_url":"abc","ip":"203.0.113.7","referrer":"`+long(1024)+`"}`, "referrer_too_long"),
	click(`{"short_url":"abc","ip":"203.0.113.7","ua":"`+long(1024)+`"}`, "ua_too_long"),
	click(`{"short_url":"abc","ip":"203.0.113.7","guid":"g"}`, "unknown_field"),

	{"/track?siteId=s", jsonType, `{"guid":"g"}`, http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{"/track?siteId=s", "multipart/form-data; boundary=x", "", http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{"/track?siteId=s", formType + "; charset=latin1", "guid=g", http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{"/track?siteId=s", "text/", "guid=g", http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{"/v1/visits", formType, `{"siteId":"s","guid":"g"}`, http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{"/v1/clicks", "text/plain", `{"short_url":"abc","ip":"203.0.113.7"}`, http.StatusUnsupportedMediaType, "unsupported_media_type"},
	{"/v1/visits", jsonType, `{"siteId":"s","guid":"` + strings.Repeat("g", 65536) + `"}`, http.StatusRequestEntityTooLarge, "body_too_large"},
	{"/track?siteId=s", formType, "guid=" + strings.Repeat("g", 65532), http.StatusRequestEntityTooLarge, "body_too_large"},
	{"/", jsonType, `{}`, http.StatusNotFound, "not_found"},
	{"/track/", formType, "guid=g", http.StatusNotFound, "not_found"},
	{"/v1/visit", jsonType, `{"siteId":"s","guid":"g"}`, http.StatusNotFound, "not_found"},
	{"/healthz", jsonType, `{}`, http.StatusMethodNotAllowed, "method_not_allowed"},
}

// badRequests sends every request that must be refused, and checks by the end offsets that none reached Kafka.
func badRequests(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	names := []string{d.topics.Visits, d.topics.Clicks, d.topics.Dead}
	for _, good := range []reply{
		d.post(t, "/track?siteId=s", formType, "guid=g"),
		d.post(t, "/v1/clicks", jsonType, `{"short_url":"abc","ip":"203.0.113.7"}`),
	} {
		if good.status != http.StatusAccepted {
			t.Fatalf("a good event = %d %s", good.status, good.raw)
		}
	}
	before := make(map[string][]int64)
	for _, name := range names {
		before[name] = ends(t, d.broker, name)
	}

	want := func(what string, r reply, status int, reason string) {
		t.Helper()
		if r.status != status || r.Error != reason || r.ID != "" {
			t.Errorf("%s = %d %q, want %d %s", what, r.status, r.raw, status, reason)
		}
	}
	for _, bad := range badBodies {
		what := fmt.Sprintf("POST %s (%s) %.80s", bad.path, bad.contentType, bad.body)
		want(what, d.post(t, bad.path, bad.contentType, bad.body), bad.status, bad.reason)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		for _, path := range []string{"/track", "/v1/visits", "/v1/clicks"} {
			r := d.do(t, method, path, nil, strings.NewReader("{}"))
			want(method+" "+path, r, http.StatusMethodNotAllowed, "method_not_allowed")
			if r.header.Get("Allow") != http.MethodPost {
				t.Errorf("%s %s: Allow = %q", method, path, r.header.Get("Allow"))
			}
		}
	}
	chunked := io.MultiReader(strings.NewReader(`{"siteId":"s","guid":"g"}`), strings.NewReader(strings.Repeat(" ", 65536)))
	want("a body of unknown length that is too long", d.do(t, http.MethodPost, "/v1/visits", http.Header{}, chunked),
		http.StatusRequestEntityTooLarge, "body_too_large")
	if got := cutShort(t, d.addr); !strings.Contains(got, "400 Bad Request") || !strings.Contains(got, "incomplete_body") {
		t.Errorf("a body that ends early = %q", got)
	}

	for _, name := range names {
		if after := ends(t, d.broker, name); !slices.Equal(after, before[name]) {
			t.Errorf("the end of %s moved from %v to %v: a refused event reached Kafka", name, before[name], after)
		}
	}
}

// cutShort announces a longer body than it sends; what it sends would be a complete event.
func cutShort(t *testing.T, addr string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprint(conn, "POST /track?siteId=s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nConnection: close\r\n\r\nguid=g")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
