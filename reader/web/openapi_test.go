package web

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/stats"
)

type parameter struct {
	Ref    string `yaml:"$ref"`
	Name   string
	In     string
	Schema struct {
		MaxLength int `yaml:"maxLength"`
		Maximum   int
		Enum      []string
	}
}

type operation struct {
	Parameters []parameter
	Responses  map[string]struct {
		Content map[string]yaml.Node
	}
}

type document struct {
	Paths map[string]struct {
		Parameters []parameter
		Get        *operation
		Options    *operation
	}
	Components struct{ Parameters map[string]parameter }
}

func described(t *testing.T) document {
	t.Helper()
	var d document
	if err := yaml.Unmarshal(OpenAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// parameters are the names in a list of references.
func (d document) parameters(list []parameter, in string) (names []string) {
	for _, p := range list {
		if p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]; p.In == in {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestOpenAPIHasEveryRoute, with its parameters, formats and methods, and no other.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	d := described(t)
	paths := []string{healthPath, openAPIPath}
	for _, r := range routes {
		paths = append(paths, r.path)
		said := d.Paths[r.path]
		if said.Get == nil || said.Options == nil {
			t.Errorf("%s is not described", r.path)
			continue
		}
		want := append([]string{"format"}, r.params...)
		if r.filters {
			want = append(want, models.DefaultFeatures()...)
		}
		slices.Sort(want)
		if got := d.parameters(said.Get.Parameters, "query"); !slices.Equal(got, want) { // share is a security scheme
			t.Errorf("%s: parameters %v, described are %v", r.path, want, got)
		}
		var inPath []string
		for part := range strings.SplitSeq(r.path, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok {
				inPath = append(inPath, strings.TrimSuffix(name, "}"))
			}
		}
		slices.Sort(inPath)
		if got := d.parameters(said.Parameters, "path"); !slices.Equal(got, inPath) {
			t.Errorf("%s: described are %v in the path", r.path, got)
		}
		var types []string
		for _, f := range formats {
			if types = append(types, f.accepts[0]); !r.lists {
				break
			}
		}
		if r.ask == nil {
			types = []string{zipType}
		}
		slices.Sort(types)
		if got := slices.Sorted(maps.Keys(said.Get.Responses["200"].Content)); !slices.Equal(got, types) {
			t.Errorf("%s: formats %v, described are %v", r.path, types, got)
		}
	}
	slices.Sort(paths)
	if got := slices.Sorted(maps.Keys(d.Paths)); !slices.Equal(got, paths) {
		t.Errorf("routes are %v\ndescribed %v", paths, got)
	}
}

// TestOpenAPIHasEveryStatus: what a question can be refused with is described for it, and nothing else is.
func TestOpenAPIHasEveryStatus(t *testing.T) {
	d := described(t)
	for _, r := range routes {
		want := []int{http.StatusOK, http.StatusBadRequest}
		if r.ask != nil { // an export has no ETag
			want = append(want, http.StatusNotModified)
		}
		for reason, status := range statuses {
			switch {
			case status == http.StatusMethodNotAllowed, reason == notFound: // not of a route
			case reason == unknownFeature && !strings.Contains(r.path, "{feature}"):
			case reason == needsHTTP11 && !r.lists && r.ask != nil: // always short
			case status == http.StatusUnprocessableEntity && r.ask == nil: // what is kept, all of it
			case status == http.StatusUnprocessableEntity && r.listsNames(): // nothing is asked that may not be kept
			case status == http.StatusUnprocessableEntity && strings.HasSuffix(r.path, "/{short_url}"):
			default:
				want = append(want, status)
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		var got []int
		for status := range d.Paths[r.path].Get.Responses {
			n, err := strconv.Atoi(status)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngives     %v\ndescribed %v", r.path, want, got)
		}
	}
}

func (r *route) listsNames() bool { return r.listed || strings.Contains(r.path, "/values/") }

// TestOpenAPIHasEveryLimit: lengths and numbers are those of the code.
func TestOpenAPIHasEveryLimit(t *testing.T) {
	p := described(t).Components.Parameters
	for name, want := range map[string]int{"shortURL": models.MaxShortURL, "siteId": models.MaxSiteID, "feature1": models.MaxFeature, "feature2": models.MaxFeature} {
		if got := p[name].Schema.MaxLength; got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if got := p["limit"].Schema.Maximum; got != stats.MaxRanked {
		t.Errorf("limit: %d", got)
	}
	var endings []string
	for _, f := range formats {
		endings = append(endings, f.ending)
	}
	if got := p["format"].Schema.Enum; !slices.Equal(got, endings) {
		t.Errorf("formats: %v, described are %v", endings, got)
	}
	var exports []string
	for _, f := range export.Formats {
		exports = append(exports, string(f))
	}
	if got := p["exportFormat"].Schema.Enum; !slices.Equal(got, exports) {
		t.Errorf("formats of exports: %v, described are %v", exports, got)
	}
}

// TestWhatIsServedBeside the questions.
func TestWhatIsServedBeside(t *testing.T) {
	s := newServer(t, newFake(), guardedAccess, nil) // nobody needs a key for these
	if w := get(s, openAPIPath); w.Code != 200 || w.Body.String() != string(OpenAPI) || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/yaml") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := get(s, healthPath); w.Code != 200 || w.Body.String() != `{"status":"ok"}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
