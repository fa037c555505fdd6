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
)

// schemathesisDir is where it is installed, once for all runs.
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
	if err := os.RemoveAll(schemathesisDir); err != nil { // a half-made one, or another version
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, line := range [][]string{
		{"python3", "-m", "venv", schemathesisDir},
		{filepath.Join(schemathesisDir, "bin", "pip"), "install", "--quiet", "-r", filepath.Join("schemathesis", "requirements.txt")},
	} {
		if printed, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("installing schemathesis: %s: %w\n%s", strings.Join(line, " "), err, printed)
		}
	}
	return os.WriteFile(done, wanted, 0o600)
})

var tested = regexp.MustCompile(`Selected: (\d+)/(\d+)\s+Tested: (\d+)`)

// TestTheDoorIsAsDescribed lets schemathesis send what the description allows and what it does not: no 5xx, and nothing
// that is not described. The seed is fixed, so that a red run can be had again.
func TestTheDoorIsAsDescribed(t *testing.T) {
	if err := schemathesisInstalled(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	d := newEmbedded(t)
	printed, err := schemathesis(t, d.url+"/openapi.yaml", d.url, "--phases", "examples,coverage,fuzzing", "--max-examples", "25")
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	if n := tested.FindStringSubmatch(printed); n == nil || n[1] != n[2] || n[1] != n[3] {
		t.Errorf("not all was tested:\n%s", printed)
	}

	// It must see what is missing, or it proves nothing.
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Replace(description(t, d.url), `"400": {$ref: "#/components/responses/Refused"}`, "", 1))
	}))
	defer wrong.Close()
	printed, err = schemathesis(t, wrong.URL, d.url, "--phases", "coverage", "--include-path", "/v1/visits")
	if err == nil || !strings.Contains(printed, "Undocumented status code") {
		t.Errorf("a description without 400 passed: %v\n%s", err, printed)
	}
}

// TestAClosedDoorIsAsDescribed does the same to a door that asks for a key and sets limits: without a key, with one that is
// for others, and with the right one, which is soon used up. Every way in must have answered with each refusal.
func TestAClosedDoorIsAsDescribed(t *testing.T) {
	if err := schemathesisInstalled(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
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
			if got[fmt.Sprintf("footfall_door_requests_total{code=\"%d\",route=%q}", code, route)] == 0 {
				t.Errorf("%s never answered %d", route, code)
			}
		}
	}
	if t.Failed() {
		for sample, n := range got {
			if strings.HasPrefix(sample, "footfall_door_requests_total") {
				t.Log(sample, n)
			}
		}
	}
}

// schemathesis runs it and returns what it printed. 4xx and 2xx are both fine if they are described.
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

// description is the door's own.
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
