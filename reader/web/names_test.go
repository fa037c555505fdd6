package web

import (
	"encoding/csv"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// TestEveryNameIsItself: a link, a site and a value of any name are counted, found by that name, and told as they are. What looks alike is
// something else.
func TestEveryNameIsItself(t *testing.T) {
	store := statstest.NewMemory(models.DefaultPlan())
	names := slices.DeleteFunc(statstest.Hostile(), func(name string) bool { return strings.Contains(name, "\x00") }) // no event has such a name
	for i, name := range names {
		at := millis("2018-10-03")
		for range i + 1 { // so that each has a number of its own
			store.Add(&models.Click{ShortURL: name, IP: "203.0.113.7", Referrer: name, TS: at},
				&models.Visit{SiteID: name, GUID: "g", Features: []string{name, ""}, TS: at})
		}
	}
	s := newServer(t, stats.New(store, "clicks", "visits"), open, nil)
	ask := func(path string, into any) {
		t.Helper()
		w := get(s, path)
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != 200 {
			t.Errorf("%s: %d %s, %v", path, w.Code, w.Body, err)
		}
	}
	for i, name := range names {
		want := int64(i + 1)
		var link struct {
			Name   string `json:"short_url"`
			Clicks int64
		}
		if ask("/v1/stats/links/"+url.PathEscape(name), &link); link.Name != name || link.Clicks != want {
			t.Errorf("link %q: %+v, want %d", name, link, want)
		}
		var site struct {
			Name  string `json:"siteId"`
			Views int64
		}
		if ask("/v1/stats/sites/"+url.PathEscape(name)+"?feature1="+url.QueryEscape(name), &site); site.Name != name || site.Views != want {
			t.Errorf("site %q: %+v, want %d", name, site, want)
		}
		var top struct {
			Top []struct {
				Value string
				Views int64
			}
		}
		if ask("/v1/stats/sites/"+url.PathEscape(name)+"/top/feature1", &top); len(top.Top) != 1 || top.Top[0].Value != name || top.Top[0].Views != want {
			t.Errorf("top of %q: %+v", name, top)
		}
		table, err := csv.NewReader(get(s, "/v1/stats/links/"+url.PathEscape(name)+"/referrers?format=csv").Body).ReadAll()
		if err != nil || len(table) != 2 || strings.TrimPrefix(table[1][0], "'") != strings.ReplaceAll(name, "\r\n", "\n") { // Go's reader changes these
			t.Errorf("referrer %q in CSV: %q, %v", name, table, err)
		}
	}
	var list struct {
		Links []struct {
			Name string `json:"short_url"`
		}
	}
	if ask("/v1/stats/links", &list); len(list.Links) != len(names) {
		t.Errorf("%d links, want %d", len(list.Links), len(names))
	}
}
