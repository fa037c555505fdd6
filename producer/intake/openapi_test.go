package intake

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"footfall/producer/answer"
	"footfall/producer/assets"
	"footfall/producer/links"
)

// described is what openapi.yaml says: path → method → status.
func described(t *testing.T) map[string]map[string][]int {
	t.Helper()
	var document struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(assets.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string][]int{}
	for path, item := range document.Paths {
		out[path] = map[string][]int{}
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var operation struct{ Responses map[string]yaml.Node }
			if err := node.Decode(&operation); err != nil {
				t.Fatal(err)
			}
			for status := range operation.Responses {
				n, err := strconv.Atoi(status)
				if err != nil {
					t.Fatalf("%s %s: status %q", method, path, status)
				}
				out[path][strings.ToUpper(method)] = append(out[path][strings.ToUpper(method)], n)
			}
		}
	}
	return out
}

// TestOpenAPIHasEveryRoute compares openapi.yaml with routes.go, where routes are made.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	source, err := os.ReadFile("routes.go")
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]map[string][]string{
		"route":     {"get": {"GET"}, "post": {"POST"}},
		"corsRoute": {"post": {"OPTIONS", "POST"}, "[]string{http.MethodGet}": {"GET", "OPTIONS"}},
	}
	made := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s+(route|corsRoute)\("([^"]+)", ([^ ]+), `).FindAllStringSubmatch(string(source), -1) {
		if made[m[2]] != nil {
			t.Errorf("%s is there twice", m[2])
		}
		if made[m[2]] = methods[m[1]][m[3]]; made[m[2]] == nil {
			t.Errorf("%s: this test does not understand %s(…, %s", m[2], m[1], m[3])
		}
		if first := strings.Split(m[2], "/")[1]; links.Name(first) {
			t.Errorf("%s could be the name of a short link: links must reserve %q", m[2], first)
		}
	}
	if len(made) < 9 {
		t.Fatalf("found %d routes only", len(made))
	}
	written := map[string][]string{}
	for path, operations := range described(t) {
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			if method != http.MethodHead { // every GET but the pixel's has one, and the mux sees to it
				written[path] = append(written[path], method)
			}
		}
	}
	if !maps.EqualFunc(made, written, slices.Equal[[]string]) {
		t.Errorf("\nroutes.go    %v\nopenapi.yaml %v", made, written)
	}
}

// TestOpenAPIHasEveryStatus: openapi.yaml has each status that the producer gives and no other, and every route for events has all that
// can happen to a request.
func TestOpenAPIHasEveryStatus(t *testing.T) {
	given := map[int]bool{
		http.StatusOK: true, http.StatusCreated: true, http.StatusAccepted: true, http.StatusNoContent: true, http.StatusMultiStatus: true,
		http.StatusFound: true, http.StatusNotModified: true, http.StatusBadRequest: true, http.StatusConflict: true,
	}
	for _, status := range answer.Statuses {
		given[status] = status != http.StatusMethodNotAllowed // for methods that are not described
	}
	delete(given, http.StatusMethodNotAllowed)
	written := map[int]bool{}
	for path, operations := range described(t) {
		for method, list := range operations {
			for _, status := range list {
				written[status] = true
			}
			if method != http.MethodPost {
				continue
			}
			for _, status := range []int{400, 401, 403, 408, 413, 415, 429, 500, 503} {
				if !slices.Contains(list, status) {
					t.Errorf("POST %s does not say %d", path, status)
				}
			}
		}
	}
	if !maps.Equal(given, written) {
		t.Errorf("\nthe producer gives     %v\nopenapi.yaml says %v", slices.Sorted(maps.Keys(given)), slices.Sorted(maps.Keys(written)))
	}
}

// TestOpenAPIHasTheLengthOfTargets: lengths are in bytes, which the schema language cannot express, so the text must say it. Those of events
// are written by models.
func TestOpenAPIHasTheLengthOfTargets(t *testing.T) {
	var document struct {
		Info       struct{ Description string }
		Components struct {
			Schemas struct {
				NewLink struct {
					Properties map[string]struct {
						MaxLength int `yaml:"maxLength"`
					}
				} `yaml:"NewLink"`
			}
		}
	}
	if err := yaml.Unmarshal(assets.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(document.Info.Description, "bytes of UTF-8") {
		t.Error("the description does not say that lengths are in bytes")
	}
	if got := document.Components.Schemas.NewLink.Properties["long_url"].MaxLength; got != links.MaxTarget {
		t.Errorf("long_url: %d in the description, %d in the code", got, links.MaxTarget)
	}
}
