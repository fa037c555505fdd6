package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// schemathesisDir is where schemathesis is installed, once for all runs.
var schemathesisDir = filepath.Join("..", "..", ".stack", "schemathesis")

var schemathesisInstalled = sync.OnceValue(func() error {
	wanted, err := os.ReadFile(filepath.Join("schemathesis", "requirements.txt"))
	if err != nil {
		return err
	}
	done := filepath.Join(schemathesisDir, "installed.txt") // written last
	if got, err := os.ReadFile(done); err == nil && string(got) == string(wanted) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := installPython(ctx, schemathesisDir, "-r", filepath.Join("schemathesis", "requirements.txt")); err != nil {
		return err
	}
	return os.WriteFile(done, wanted, 0o600)
})

var tested = regexp.MustCompile(`Selected: (\d+)/(\d+)\s+Tested: (\d+)`)

// TestTheProducerIsAsDescribed lets schemathesis send requests that openapi.yaml allows and others. No answer may be a 5xx or one that
// openapi.yaml does not describe. The seed is fixed, so that a failing run can be repeated.
func TestTheProducerIsAsDescribed(t *testing.T) {
	harness.Need(t, schemathesisInstalled())
	d := newEmbedded(t)
	printed, err := schemathesis(t, d.url+"/openapi.yaml", d.url, "--phases", "examples,coverage,fuzzing", "--max-examples", "25")
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	if n := tested.FindStringSubmatch(printed); n == nil || n[1] != n[2] || n[1] != n[3] {
		t.Errorf("not all was tested:\n%s", printed)
	}

	// It must notice an answer that is missing from the description, or it proves nothing.
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Replace(description(t, d.url), `"400": {$ref: "#/components/responses/Refused"}`, "", 1))
	}))
	defer wrong.Close()
	printed, err = schemathesis(t, wrong.URL, d.url, "--phases", "coverage", "--include-path", "/v1/visits")
	if err == nil || !strings.Contains(printed, "Undocumented status code") {
		t.Errorf("a description without 400 passed: %v\n%s", err, printed)
	}
}

// TestAProducerWithKeysIsAsDescribed does the same to a producer that wants a key and has rate limits: without a key, with another
// tenant's, and with the right one, whose limit is soon reached. Every route must have answered 401, 403 and 429.
func TestAProducerWithKeysIsAsDescribed(t *testing.T) {
	harness.Need(t, schemathesisInstalled())
	hash := func(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }
	d := newEmbedded(t, "FOOTFALL_ACCESS_OPEN=false", "FOOTFALL_LIMITS_SITE_PER_SECOND=0.001", "FOOTFALL_LIMITS_SITE_BURST=1",
		`FOOTFALL_ACCESS_SITES=[{"site":"site1","links":"abc","create_links":true,"key_hashes":["`+hash("ours")+`"]},`+
			`{"site":"elsewhere","links":"elsewhere","create_links":true,"key_hashes":["`+hash("theirs")+`"]}]`)
	ways := []string{"/v1/visits", "/v1/clicks", "/track", "/pixel.gif", "/v1/links"}
	for _, args := range [][]string{
		{"--phases", "examples"},
		{"--phases", "examples", "--header", "Authorization: Bearer theirs"},
		{"--phases", "examples,coverage", "--header", "Authorization: Bearer ours"},
	} {
		for _, path := range ways {
			args = append(args, "--include-path", path)
		}
		if printed, err := schemathesis(t, d.url+"/openapi.yaml", d.url, args...); err != nil {
			t.Errorf("%v\n%s", err, printed)
		}
	}
	got, err := process.Metrics(t.Context(), d.admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range ways {
		for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests} {
			if got[fmt.Sprintf("footfall_producer_requests_total{code=\"%d\",route=%q}", code, route)] == 0 {
				t.Errorf("%s never answered %d", route, code)
			}
		}
	}
	if t.Failed() {
		for sample, n := range got {
			if strings.HasPrefix(sample, "footfall_producer_requests_total") {
				t.Log(sample, n)
			}
		}
	}
}

// schemathesis runs it and returns what it prints. Any 2xx and 4xx is fine if it is described.
func schemathesis(t *testing.T, description, url string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	here, err := filepath.Abs("schemathesis")
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(filepath.Join(schemathesisDir, "bin", "st"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"run", description, "--url", url, "--seed", "1", "--no-color",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance",
	}, args...)...)
	cmd.Dir = t.TempDir() // it leaves its examples where it runs
	cmd.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS=ndjson", "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8")
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

// description is the openapi.yaml that the producer serves.
func description(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url + "/openapi.yaml")
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
