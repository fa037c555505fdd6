package statstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
)

var every = models.NamesWith("")

func testLists(t *testing.T, s stats.Store, tables Tables) {
	ctx := t.Context()
	var pages []string
	for i := range 60 { // in all buckets
		page := fmt.Sprintf("/p/%02d", i)
		pages = append(pages, page)
		tables.List(t, valueIn("listed", at("2018-10-01"), "feature2", page), linkOn(at("2017-05-05"), page), siteIn(at("2017-05-01"), page))
	}
	tables.List(t, valueIn("listed", at("2018-10-01"), "feature2", pages[0])) // again
	tables.List(t, valueIn("listed", at("2018-10-01"), "feature1", "google.com"))
	tables.List(t, valueIn("listed", at("2018-11-01"), "feature2", "/november"))
	tables.List(t, valueIn("another", at("2018-10-01"), "feature2", "/another"))
	tables.List(t, linkOn(at("2017-05-06"), "tomorrow"))
	tables.List(t, siteIn(at("2017-06-01"), "june"))
	sorted := func(what string, got []string, want ...string) {
		t.Helper()
		slices.Sort(got)
		same(t, what, got, want...)
	}
	values := collect(t, s.Names(ctx, valuesOf("listed", at("2018-10-01"), "feature2"), every))
	same(t, "values, asked twice, in one order", collect(t, s.Names(ctx, valuesOf("listed", at("2018-10-01"), "feature2"), every)), values...)
	sorted("values", values, pages...)
	sorted("values of another feature", collect(t, s.Names(ctx, valuesOf("listed", at("2018-10-01"), "feature1"), every)), "google.com")
	sorted("values of another month", collect(t, s.Names(ctx, valuesOf("listed", at("2018-11-01"), "feature2"), every)), "/november")
	sorted("values of another site", collect(t, s.Names(ctx, valuesOf("another", at("2018-10-01"), "feature2"), every)), "/another")
	sorted("values of nobody", collect(t, s.Names(ctx, valuesOf("nobody", at("2018-10-01"), "feature2"), every)))
	sorted("links", collect(t, s.Names(ctx, linkOn(at("2017-05-05"), ""), every)), pages...)
	var beginning []string
	for _, name := range pages {
		if strings.HasPrefix(name, pages[0][:2]) {
			beginning = append(beginning, name)
		}
	}
	sorted("links with a beginning", collect(t, s.Names(ctx, linkOn(at("2017-05-05"), ""), models.NamesWith(pages[0][:2]))), beginning...)
	sorted("sites with a beginning", collect(t, s.Names(ctx, siteIn(at("2017-05-01"), ""), models.NamesWith(pages[0][:2]))), beginning...)
	sorted("links of the next day", collect(t, s.Names(ctx, linkOn(at("2017-05-06"), ""), every)), "tomorrow")
	sorted("sites", collect(t, s.Names(ctx, siteIn(at("2017-05-01"), ""), every)), pages...)
	sorted("sites of the next month", collect(t, s.Names(ctx, siteIn(at("2017-06-01"), ""), every)), "june")
}

// Hostile are names that break what puts text together instead of binding it.
func Hostile() []string {
	return []string{
		`'`, `''; DROP TABLE urlshortener.urls; --`, `"`, "`", `\`, `%_*?`, `$1 ? :a @b`, "nul\x00in the middle", "line\nbreak\r\n\ttab",
		"\u202eright to left\u202c", "\u200b", "\ufeffbom", "e\u0301 is not \u00e9", "\u00e9", `<script>alert("1")</script>`, `</title><svg onload=alert(1)>`,
		`=HYPERLINK("http://x")`, "../../etc/passwd", "💥👩‍👩‍👧", " ", "NULL", "0x00", "{\"a\":1}", strings.Repeat("ä", 60),
	}
}

// testHostile takes names through every column that has one: they are found again, as they are, and name nothing else.
func testHostile(t *testing.T, s stats.Store, tables Tables) {
	ctx, day, month := t.Context(), at("2016-02-29"), at("2016-02-01")
	names := Hostile()
	long := strings.Repeat("長", 341) + "x" // 1,024 bytes
	for i, name := range append(names, long) {
		if len(name) <= models.MaxShortURL { // or a site's
			tables.Count(t, Counts{models.LinkKey(name): {{Counter: models.ClickCounter}: int64(i + 1), {Counter: models.ReferrerCounters, Label: name}: int64(i + 1)}})
			tables.Lead(t, name, name)
			tables.List(t, linkOn(day, name))
			tables.List(t, siteIn(month, name))
			tables.List(t, valueIn(name, month, "feature1", name))
		}
		tables.Count(t, Counts{models.LinkKey("hostile"): {{Counter: models.ReferrerCounters, Label: name}: int64(i + 1)}})
		tables.List(t, valueIn("hostile", month, "feature1", name))
		if !strings.Contains(name, "\x00") { // a key joins its features by it
			tables.Count(t, Counts{key("hostile", "2016-02-01", name, name): {{Counter: models.MonthUnique, At: month}: int64(i + 1)}})
		}
	}
	for i, name := range names {
		got, err := s.Link(ctx, name)
		if want := (stats.LinkTotals{LongURL: name, Clicks: int64(i + 1)}); err != nil || got != want {
			t.Errorf("link %q: %+v, %v; want %+v", name, got, err, want)
		}
		same(t, "its referrer", collect(t, s.Shares(ctx, name, models.ReferrerCounters, stats.Range{})), stats.Share{Label: name, Count: int64(i + 1)})
		itself := models.NameRange{From: name, To: name}
		same(t, "the link alone", collect(t, s.Names(ctx, linkOn(day, ""), itself)), name)
		same(t, "the site alone", collect(t, s.Names(ctx, siteIn(month, ""), itself)), name)
		if n := len(collect(t, s.Names(ctx, linkOn(day, ""), models.NamesWith(name)))); n == 0 {
			t.Errorf("%q does not begin with itself", name)
		}
		same(t, "its value", collect(t, s.Names(ctx, valuesOf(name, month, "feature1"), every)), name)
	}
	asSet(t, "links", collect(t, s.Names(ctx, linkOn(day, ""), every)), names)
	asSet(t, "sites", collect(t, s.Names(ctx, siteIn(month, ""), every)), names)
	asSet(t, "values", collect(t, s.Names(ctx, valuesOf("hostile", month, "feature1"), every)), append(names, long))
	var labels []string
	for _, share := range collect(t, s.Shares(ctx, "hostile", models.ReferrerCounters, stats.Range{})) {
		labels = append(labels, share.Label)
	}
	asSet(t, "referrers", labels, append(names, long))
	if !slices.IsSorted(labels) {
		t.Errorf("referrers are not in the order of their bytes: %q", labels)
	}
	testHostileKeys(t, s, append(names, long))
}

func testHostileKeys(t *testing.T, s stats.Store, names []string) {
	var keys []models.Key
	var want []int64
	for i, name := range names {
		if strings.Contains(name, "\x00") {
			continue // a key joins its features by it
		}
		k := key("hostile", "2016-02-01", name, name)
		keys, want = append(keys, k), append(want, int64(i+1))
		same(t, fmt.Sprintf("visits of %q", name), collect(t, s.Points(t.Context(), k, models.MonthUnique, stats.Range{})), point("2016-02-01", int64(i+1)))
	}
	same(t, "ranked", first(s.Ranked(t.Context(), keys, models.MonthUnique, within("2016-02-01", "2016-03-01"))), want...)
}

func asSet(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
