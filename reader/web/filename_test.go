package web

import (
	"regexp"
	"strings"
	"testing"

	"footfall/reader/stats"
)

// TestDownloadsAreNamedByWhatTheyHave: files of one folder do not get in each other's way, and no name leads out of it.
func TestDownloadsAreNamedByWhatTheyHave(t *testing.T) {
	s := newServer(t, stats.New(counted(), "clicks", "visits"), open, nil)
	f := func(target, want string) {
		t.Helper()
		w := get(s, "/v1/stats"+target)
		if got := w.Header().Get("Content-Disposition"); w.Code != 200 || got != `attachment; filename="footfall-`+want+`"` {
			t.Errorf("%s: %d %s, want %s", target, w.Code, got, want)
		}
	}
	f("/links?format=csv", "links-2018-10-03.csv")
	f("/sites?format=ndjson&month=2018-09", "sites-2018-09.ndjson")
	f("/links/abc/referrers?format=csv", "link-abc-referrers.csv")
	f("/links/abc/countries?format=ndjson", "link-abc-countries.ndjson")
	f("/links/abc/latest?format=csv", "link-abc-latest-2018-10-03.csv")
	f("/links/abc/series?format=csv", "link-abc-series-day.csv")
	f("/links/abc/series?format=csv&by=hour&from=2018-10-01&to=2018-10-01T05:00:00Z", "link-abc-series-hour-2018-10-01-2018-10-01T05.csv")
	f("/links/abc/amounts?format=csv&by=month", "link-abc-amounts-month.csv")
	f("/sites/shop1/values/feature1?format=csv", "site-shop1-values-feature1-2018-10.csv")
	f("/sites/shop1/top/feature2?format=csv&period=2018-W40", "site-shop1-top-feature2-views-2018-W40.csv")
	f("/sites/shop1/top/feature2?format=csv&feature1=a.b", "site-shop1-top-feature2-unique-2018-10-feature1-a%2Eb.csv")
	f("/sites/shop1/series?format=csv&metric=unique&from=2018-10-01&to=2018-11-01", "site-shop1-series-unique-day-2018-10-01-2018-11-01.csv")
	f("/sites/shop1/export", "site-shop1-2018-10.zip")
	f("/links/promo/export?month=2018-09&format=parquet", "link-promo-2018-09.zip")
	f("/links/%22%0D%0A..%2F..%5C%E2%80%AE/referrers?format=csv",
		"link-%22%0D%0A%2E%2E%2F%2E%2E%5C%E2%80%AE-referrers.csv")

	long := "/v1/stats/sites/" + strings.Repeat("%2F", 120) + "/top/feature1?format=csv&feature2=" + strings.Repeat("%C3%A9", 200)
	one, other := get(s, long+"a").Header().Get("Content-Disposition"), get(s, long+"b").Header().Get("Content-Disposition")
	if plain := regexp.MustCompile(`^attachment; filename="[A-Za-z0-9%~_-]{1,210}\.csv"$`); !plain.MatchString(one) || one == other {
		t.Errorf("%s\n%s", one, other)
	}
	if got := get(s, "/v1/stats/links/abc/referrers").Header().Get("Content-Disposition"); got != "" {
		t.Errorf("JSON is %s", got)
	}
}
