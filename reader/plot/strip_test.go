package plot

import (
	"strings"
	"testing"
)

func TestStrip(t *testing.T) {
	got := string(Strip{ID: "s", Title: "Clicks <by> second", Desc: "Most: 4", Bars: []int64{0, 4, 2, -1, 1}, Growing: 2}.SVG())
	for _, want := range []string{`aria-labelledby="s-t s-d"`, `<title id="s-t">Clicks &lt;by&gt; second</title><desc id="s-d">Most: 4</desc>`,
		`<path d="M22,1000v-1000h16v1000zM42,1000v-500h16v500z"/>`, `<path class="open" d="M82,1000v-250h16v250z"/>`, `viewBox="0 0 100 1000"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s: %s", want, got)
		}
	}
	if none := string(Strip{ID: "s", Bars: make([]int64, 60)}.SVG()); !strings.Contains(none, `<path d=""/>`) {
		t.Error(none)
	}
}
