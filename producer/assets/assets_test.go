package assets

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"footfall/models"
)

// TestTheScriptIsSmallAndStrict: small enough for every page, and nothing in it that a strict content security policy
// forbids or that keeps a visitor beyond the tab.
func TestTheScriptIsSmallAndStrict(t *testing.T) {
	longest := make([]string, models.MaxFeatures) // the largest script that a producer can serve
	for i := range longest {
		longest[i] = strings.Repeat("f", models.MaxFeatureName-1) + string(rune('a'+i))
	}
	if _, err := models.NewPlan(longest, models.AllMetrics()); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	ServeScript(longest).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", nil))
	if n := w.Body.Len(); n >= 1500 || !strings.Contains(w.Body.String(), longest[5]) {
		t.Errorf("%d bytes with the longest names: want less than 1,500", n)
	}
	if !strings.Contains(string(Script), ".catch(") {
		t.Error("a fetch that fails is an error on somebody's page")
	}
	for _, forbidden := range []string{"eval", "Function(", "innerHTML", "document.write", "cookie =", "localStorage", "indexedDB", "setAttribute", "createElement"} {
		if strings.Contains(string(Script), forbidden) {
			t.Errorf("the script uses %s", forbidden)
		}
	}
	for _, honoured := range []string{"doNotTrack", "globalPrivacyControl", "sendBeacon", "keepalive"} {
		if !strings.Contains(string(Script), honoured) {
			t.Errorf("the script does not know %s", honoured)
		}
	}
}

func TestAssetsAreRevalidated(t *testing.T) {
	for mediaType, h := range map[string]http.Handler{"text/javascript; charset=utf-8": ServeScript([]string{"feature1", "feature2"}), "application/yaml; charset=utf-8": ServeOpenAPI()} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != mediaType || w.Body.Len() == 0 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
		again := httptest.NewRequest(http.MethodGet, "/x", nil)
		again.Header.Set("If-None-Match", w.Header().Get("ETag"))
		w = httptest.NewRecorder()
		h.ServeHTTP(w, again)
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("again: %d", w.Code)
		}
	}
}

// TestTheScriptHasTheNames: those of the producer, and no others.
func TestTheScriptHasTheNames(t *testing.T) {
	for want, features := range map[string][]string{
		`["feature1","feature2"].forEach`: {"feature1", "feature2"}, `["page"].forEach`: {"page"}, `["a","b","c"].forEach`: {"a", "b", "c"},
	} {
		w := httptest.NewRecorder()
		ServeScript(features).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", nil))
		if got := w.Body.String(); !strings.Contains(got, want) || features[0] != "feature1" && strings.Contains(got, "feature1") {
			t.Errorf("%q: no %s in\n%s", features, want, got)
		}
	}
}
