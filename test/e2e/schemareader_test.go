package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// requireSchemathesis installs it, or skips the test; on CI it must be there.
func requireSchemathesis(t *testing.T) {
	t.Helper()
	harness.Need(t, schemathesisInstalled())
}

// fillForReader sends what the examples of the reader's description ask for.
func fillForReader(t *testing.T, d *embedded) {
	t.Helper()
	for path, body := range map[string]string{
		"/v1/clicks": `[{"short_url":"abc","ip":"203.0.113.7","country":"IT","referrer":"=1+1","ts":1538575500000,"amount":250},{"short_url":"abc","ip":"203.0.113.8"}]`,
		"/v1/visits": `[{"siteId":"site1","guid":"a","feature1":"google.com","feature2":"/a","ts":1538575500000},{"siteId":"site1","guid":"b","feature2":"<b>"}]`,
	} {
		response, err := http.Post(d.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusAccepted {
			t.Fatalf("%s: %s", path, response.Status)
		}
	}
}

// TestTheReaderIsAsDescribed lets schemathesis ask what the description allows and what it does not: no 5xx, and nothing that is not
// described.
func TestTheReaderIsAsDescribed(t *testing.T) {
	t.Parallel()
	requireSchemathesis(t)
	d := newEmbedded(t)
	fillForReader(t, d)
	selected, all := 0, ""
	for _, args := range [][]string{
		{"--max-examples", "25", "--exclude-path-regex", "/export$"},
		{"--max-examples", "3", "--workers", "2", "--include-path-regex", "/export$"}, // each answer waits seconds for the consumer's next note
	} {
		printed, err := schemathesis(t, d.reader+"/v1/openapi.yaml", d.reader, append(args, "--phases", "examples,coverage,fuzzing")...)
		if err != nil {
			t.Errorf("%v\n%s", err, printed)
		}
		n := tested.FindStringSubmatch(printed)
		if n == nil || n[1] != n[3] {
			t.Fatalf("not all was tested:\n%s", printed)
		}
		part, err := strconv.Atoi(n[1])
		if err != nil {
			t.Fatal(err)
		}
		selected, all = selected+part, n[2]
	}
	if strconv.Itoa(selected) != all {
		t.Errorf("%d operations of %s were tested", selected, all)
	}
}

// TestAClosedReaderIsAsDescribed does the same without a key, with one that is for others, and with the right one.
func TestAClosedReaderIsAsDescribed(t *testing.T) {
	t.Parallel()
	requireSchemathesis(t)
	hash := func(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }
	d := newEmbedded(t, `FOOTFALL_ACCESS_READERS=[{"site":"site1","links":"abc","key_hashes":["`+hash("ours")+`"]},{"site":"elsewhere","links":"elsewhere","key_hashes":["`+hash("theirs")+`"]}]`)
	fillForReader(t, d)
	for _, args := range [][]string{
		{"--phases", "examples,coverage"},
		{"--phases", "examples", "--header", "Authorization: Bearer theirs"},
		{"--phases", "examples", "--header", "Authorization: Bearer ours"},
	} {
		args = append(args, "--include-path-regex", "^/v1/stats/(links|sites)/")
		if printed, err := schemathesis(t, d.reader+"/v1/openapi.yaml", d.reader, args...); err != nil {
			t.Errorf("%v\n%s", err, printed)
		}
	}
	got, err := process.Metrics(t.Context(), d.admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range []string{"/v1/stats/links/{short_url}", "/v1/stats/links/{short_url}/series", "/v1/stats/sites/{siteId}", "/v1/stats/sites/{siteId}/top/{feature}"} {
		for _, code := range []int{http.StatusOK, http.StatusUnauthorized, http.StatusForbidden} {
			if got[fmt.Sprintf("footfall_reader_requests_total{code=\"%d\",route=%q}", code, route)] == 0 {
				t.Errorf("%s never answered %d", route, code)
			}
		}
	}
}
