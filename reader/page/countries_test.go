package page

import (
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/stats/statstest"
)

// TestCountriesTooSmallForTheMap: the page says what its map leaves out. A country that is not known is none of them.
func TestCountriesTooSmallForTheMap(t *testing.T) {
	f := func(want string, countries ...string) {
		t.Helper()
		m := statstest.NewMemory(models.DefaultPlan())
		for _, code := range countries {
			m.Add(&models.Click{ShortURL: "abc", IP: "203.0.113.7", Country: code, TS: models.Millis(today.UnixMilli())})
		}
		_, text := get(t, newPage(m), "/links/abc")
		if !strings.Contains(text, `<svg class="world"`) || strings.Contains(text, "too small for this map") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%v: want %q: %s", countries, want, text)
		}
	}
	f("3 clicks are from countries too small for this map.", "SG", "MT", "SG", "IT", "")
	f("1 click is from a country too small for this map.", "HK")
	f("", "IT", "")
}
