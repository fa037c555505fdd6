package page

import (
	"net/url"
	"testing"
	"time"

	"footfall/models"
)

func TestWindows(t *testing.T) {
	now := models.Millis(today.UnixMilli())
	f := func(query, unit, from, to string, points int, before, words string) {
		t.Helper()
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		w, err := chosen(place{q: q}, now)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		past, _ := w.before()
		day := func(m models.Millis) string { return m.Time().Format(models.Daily) }
		if string(w.unit) != unit || day(w.within.From) != from || day(w.within.To) != to || w.size() != points || day(past.From) != before || past.To != w.within.From || w.words() != words {
			t.Errorf("%s: %d %ss from %s to %s, before from %s: %q", query, w.size(), w.unit, day(w.within.From), day(w.within.To), day(past.From), w.words())
		}
	}
	f("from=2026-11-01&last=2026-11-18", "day", "2026-11-01", "2026-11-19", 18, "2026-10-14", "1 – 18 November 2026")
	f("last=2026-11-18", "day", "2026-10-20", "2026-11-19", 30, "2026-09-20", "20 October – 18 November 2026")
	f("from=2026-11-18&by=hour", "hour", "2026-11-18", "2026-11-19", 24, "2026-11-17", "Wednesday 18 November 2026")
	f("from=2026-11-01&last=2026-11-18&by=week", "week", "2026-10-26", "2026-11-23", 4, "2026-09-28", "26 October – 22 November 2026")
	f("from=2026-01-31&last=2026-03-01&by=month", "month", "2026-01-01", "2026-04-01", 3, "2025-10-01", "January 2026 – March 2026")
	f("from=2026-03-05&last=2026-03-06&by=month", "month", "2026-03-01", "2026-04-01", 1, "2026-02-01", "March 2026")
	f("from=2025-12-31&last=2026-01-01", "day", "2025-12-31", "2026-01-02", 2, "2025-12-29", "31 December 2025 – 1 January 2026")
	f("from=2000-01-01&last=2026-11-18&by=day", "month", "2000-01-01", "2026-12-01", 323, "1973-02-01", "January 2000 – November 2026")
}

// No address makes a page fail, take long, or show a number of something else than it says.
func TestExtremeAddresses(t *testing.T) {
	h := newPage(shared(t))
	values := []string{"", "0", "-1", "1970-01-01", "9999-12-31", "2026-W53", "1970-W01", "9999-W52", "2026-13", "0000-00-00", "NaN", "2026-11-18T25", "\x00", "%", "hour", "month", "unique", "off", "live", "..", "99999999999999999999"}
	began := time.Now()
	for _, path := range []string{"/", "/links/autumn-sale", "/sites/shop.example"} {
		for _, name := range append([]string{"range", "referrer", "page"}, reserved...) {
			for _, value := range values {
				for _, more := range []string{"", "&last=9999-12-31&by=month", "&from=1970-01-01&by=week", "&from=1970-01-01&last=1970-01-01", "&period=1970-01", "&period=9999-12"} {
					address := path + "?" + name + "=" + url.QueryEscape(value) + more
					if answer, text := get(t, h, address); answer.StatusCode >= 500 || (answer.StatusCode != 304 && text == "") {
						t.Errorf("%s: %d %s", address, answer.StatusCode, text)
					}
				}
			}
		}
	}
	t.Logf("%v", time.Since(began))
}
