package health

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestBuildInfo(t *testing.T) {
	families, err := NewRegistry("tester").Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "footfall_build_info" {
			continue
		}
		got := map[string]string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			got[l.GetName()] = l.GetValue()
		}
		if got["component"] != "tester" || got["goversion"] != runtime.Version() || got["version"] == "" || f.GetMetric()[0].GetGauge().GetValue() != 1 {
			t.Errorf("the build is %v", f)
		}
		return
	}
	t.Error("no footfall_build_info")
}

func TestLint(t *testing.T) {
	if problems, err := testutil.GatherAndLint(NewRegistry("tester")); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// Profiles are there only if they are asked for; what else is asked for is there in either case.
func TestProfiles(t *testing.T) {
	f := func(on bool, path string, want int) {
		t.Helper()
		h := WithProfiles(on, Handler(NewRegistry("tester"), func() error { return nil }))
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != want {
			t.Errorf("pprof %t: %s is answered with %d, want %d", on, path, answer.Code, want)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
		f(true, path, http.StatusOK)
		f(false, path, http.StatusNotFound)
	}
	f(true, "/debug/pprof/trace?seconds=0.01", http.StatusOK)
	f(false, "/debug/pprof/trace?seconds=0.01", http.StatusNotFound)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		f(true, path, http.StatusOK)
		f(false, path, http.StatusOK)
	}
}
