package oracle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"footfall/models"
)

// The analysts' first example: 500 visits in October 2018 by 100 visitors, from two referrers to three pages. The counts have twelve
// keys, and the visitors of a referrer are at least those of its largest page and at most the sum over its pages.
func TestTheSampleHasTheKnownShape(t *testing.T) {
	referrers := []string{"facebook.com", "google.com"}
	pages := []string{"/index.html", "/index2.html", "/index3.html"}
	october := time.Date(2018, 10, 1, 0, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(2018, 10))
	o := New()
	for i := range 500 {
		o.Visit(&models.Visit{
			ID: fmt.Sprint(i), SiteID: "site1", GUID: fmt.Sprint("guid", r.IntN(100)),
			TS:       models.Millis(october.UnixMilli() + r.Int64N(31*24*3600*1000)),
			Features: []string{referrers[r.IntN(2)], pages[r.IntN(3)]},
		})
	}
	unique := func(f1, f2 string) int64 {
		return o.Cells()[o.counts("site1", october, []string{f1, f2}, "month_unique", october)]
	}
	views := func(f1, f2 string) int64 {
		return o.Cells()[o.counts("site1", october, []string{f1, f2}, "month_views", october)]
	}

	keys := 0
	for _, f1 := range append(referrers, "") {
		sum, most := int64(0), int64(0)
		for _, f2 := range pages {
			if unique(f1, f2) > 0 {
				keys++
			}
			sum, most = sum+unique(f1, f2), max(most, unique(f1, f2))
		}
		if unique(f1, "") > 0 {
			keys++
		}
		if whole := unique(f1, ""); whole < most || whole > sum || whole > 100 {
			t.Errorf("feature1 %q: %d visitors, its pages have %d at the most and %d together", f1, whole, most, sum)
		}
	}
	if keys != 12 {
		t.Errorf("%d keys with month_unique, want 12", keys)
	}
	if got := unique("", ""); got < 95 {
		t.Errorf("%d of 100 visitors came in 500 visits", got)
	}
	if views("", "") != 500 || views("facebook.com", "")+views("google.com", "") != 500 {
		t.Errorf("views: %d in all, want 500", views("", ""))
	}
	if got := views("facebook.com", "/index.html"); got != 0 {
		t.Errorf("%d views of a pair of features, want none", got)
	}
}
