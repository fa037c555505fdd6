package oracle

import (
	"strings"
	"testing"
	"time"

	"footfall/models"
)

// at parses a time as people write it.
func at(t *testing.T, text string) models.Millis {
	t.Helper()
	moment, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return models.Millis(moment.UnixMilli())
}

func check(t *testing.T, want, got Cells) {
	t.Helper()
	for _, line := range Diff(want, got) {
		t.Error(line)
	}
}

// The links below were counted by hand: three people, one bot, one id sent twice.
func TestClicksByHand(t *testing.T) {
	o := New().Keep("month_unique")
	click := func(id, ip, country, ts, referrer string, bot bool) {
		o.Click(&models.Click{ID: id, ShortURL: "abc", IP: ip, Country: country, TS: at(t, ts), Referrer: referrer, Bot: bot})
	}
	click("1", "203.0.113.7", "IT", "2015-07-15 14:00:00", "", false)
	click("2", "203.0.113.7", "IT", "2015-07-15 14:59:59", "news.example", false)
	click("3", "2001:db8::1", "", "2015-07-15 15:00:00", "news.example", false)
	click("3", "2001:db8::1", "", "2015-07-15 15:00:00", "news.example", false)
	click("4", "198.51.100.1", "DE", "2015-07-16 00:00:00", "", false)
	click("5", "198.51.100.9", "DE", "2015-07-16 00:00:00", "", true)
	for id, amount := range map[string]int64{"6": 1999, "7": -1999} { // by a bot, and on another link
		o.Click(&models.Click{ID: id, ShortURL: "abc", IP: "198.51.100.9", TS: at(t, "2015-07-16 00:00:00"), Bot: true, Amount: &amount})
		o.Click(&models.Click{ID: "x" + id, ShortURL: "x", IP: "198.51.100.9", TS: at(t, "2015-07-16 00:00:00"), Amount: &amount})
	}
	got := Cells{}
	for name, value := range o.Cells() {
		if strings.Contains(name, `"abc"`) || strings.Contains(name, "amount") {
			got[name] = value
		}
	}

	check(t, Cells{
		`urlshortener.clickcounter|short_url="abc"`:                             4,
		`urlshortener.hourcounters|short_url="abc"|hour=2015-07-15T14:00:00Z`:   2,
		`urlshortener.hourcounters|short_url="abc"|hour=2015-07-15T15:00:00Z`:   1,
		`urlshortener.hourcounters|short_url="abc"|hour=2015-07-16T00:00:00Z`:   1,
		`urlshortener.daycounters|short_url="abc"|day=2015-07-15T00:00:00Z`:     3,
		`urlshortener.daycounters|short_url="abc"|day=2015-07-16T00:00:00Z`:     1,
		`urlshortener.countrycounters|short_url="abc"|country="IT"`:             2,
		`urlshortener.countrycounters|short_url="abc"|country="ZZ"`:             1,
		`urlshortener.countrycounters|short_url="abc"|country="DE"`:             1,
		`urlshortener.referrercounters|short_url="abc"|referrer=""`:             2,
		`urlshortener.referrercounters|short_url="abc"|referrer="news.example"`: 2,
		`urlshortener.uniquecounter|short_url="abc"`:                            3,
		`urlshortener.uniquecounterips|short_url="abc"|ip="203.0.113.7"`:        1,
		`urlshortener.uniquecounterips|short_url="abc"|ip="2001:db8::1"`:        1,
		`urlshortener.uniquecounterips|short_url="abc"|ip="198.51.100.1"`:       1,
		`urlshortener.botcounter|short_url="abc"`:                               3,

		`urlshortener.amountcounters.num_values|short_url="x"|day=2015-07-16T00:00:00Z`: 2,
		`urlshortener.amountcounters.sum_values|short_url="x"|day=2015-07-16T00:00:00Z`: 0,
	}, got)
	if o.Clicks != 9 || o.Duplicates != 1 {
		t.Errorf("%d clicks and %d duplicates, want 9 and 1", o.Clicks, o.Duplicates)
	}
}

// Each dimension has every click of a month once, under what it has or under nothing. Bots have none.
func TestClicksByMonth(t *testing.T) {
	o := New().Keep("country", "browser")
	o.Click(&models.Click{ID: "1", ShortURL: "abc", IP: "a", Country: "IT", Agent: models.Agent{Browser: "Firefox", System: "Linux"}, TS: at(t, "2015-07-31 23:59:59")})
	o.Click(&models.Click{ID: "2", ShortURL: "abc", IP: "a", TS: at(t, "2015-07-01 00:00:00")})
	o.Click(&models.Click{ID: "3", ShortURL: "abc", IP: "a", Agent: models.Agent{Browser: "Firefox"}, TS: at(t, "2015-08-01 00:00:00")})
	o.Click(&models.Click{ID: "4", ShortURL: "abc", IP: "a", Country: "IT", Bot: true, TS: at(t, "2015-08-01 00:00:00")})
	got := Cells{}
	for name, value := range o.Cells() {
		if strings.Contains(name, "monthcounters") {
			got[name] = value
		}
	}
	july, august := `|month=2015-07-01T00:00:00Z|label=`, `|month=2015-08-01T00:00:00Z|label=`
	country, browser := `urlshortener.monthcounters|short_url="abc"|dimension="country"`, `urlshortener.monthcounters|short_url="abc"|dimension="browser"`
	check(t, Cells{
		country + july + `"IT"`: 1, country + july + `"ZZ"`: 1, country + august + `"ZZ"`: 1,
		browser + july + `"Firefox"`: 1, browser + july + `""`: 1, browser + august + `"Firefox"`: 1,
	}, got)
}

// The same person with one feature on the last day of October 2018 (a Wednesday) and on the first of November: two
// months, two days, but one week, which belongs to October because its Monday is the 29th.
func TestAWeekBelongsToTheMonthOfItsMonday(t *testing.T) {
	o := New()
	for id, ts := range map[string]string{"1": "2018-10-31 23:59:59", "2": "2018-11-01 00:00:00"} {
		o.Visit(&models.Visit{ID: id, SiteID: "s", GUID: "g", TS: at(t, ts), Features: []string{"", "/"}})
	}
	want := Cells{}
	for _, f2 := range []string{`""`, `"/"`} {
		october := `cardinality.counts|siteid="s"|month_interval_start=2018-10-01T00:00:00Z|feature1=""|feature2=` + f2
		november := `cardinality.counts|siteid="s"|month_interval_start=2018-11-01T00:00:00Z|feature1=""|feature2=` + f2
		want[october+`|metric_type="month_unique"|interval_start=2018-10-01T00:00:00Z`] = 1
		want[october+`|metric_type="week_unique"|interval_start=2018-10-29T00:00:00Z`] = 1
		want[october+`|metric_type="day_unique"|interval_start=2018-10-31T00:00:00Z`] = 1
		want[october+`|metric_type="month_views"|interval_start=2018-10-01T00:00:00Z`] = 1
		want[october+`|metric_type="day_views"|interval_start=2018-10-31T00:00:00Z`] = 1
		want[october+`|metric_type="hour_views"|interval_start=2018-10-31T23:00:00Z`] = 1
		want[november+`|metric_type="month_unique"|interval_start=2018-11-01T00:00:00Z`] = 1
		want[november+`|metric_type="day_unique"|interval_start=2018-11-01T00:00:00Z`] = 1
		want[november+`|metric_type="month_views"|interval_start=2018-11-01T00:00:00Z`] = 1
		want[november+`|metric_type="day_views"|interval_start=2018-11-01T00:00:00Z`] = 1
		want[november+`|metric_type="hour_views"|interval_start=2018-11-01T00:00:00Z`] = 1

		// printf %s g | md5sum begins with b2.
		for _, interval := range []string{
			`"month"|interval_start=2018-10-01T00:00:00Z`, `"month"|interval_start=2018-11-01T00:00:00Z`,
			`"week"|interval_start=2018-10-29T00:00:00Z`,
			`"day"|interval_start=2018-10-31T00:00:00Z`, `"day"|interval_start=2018-11-01T00:00:00Z`,
		} {
			want[`cardinality.guiddata|siteid="s"|interval_size=`+interval+
				`|bucket="b2"|guid="g"|feature1=""|feature2=`+f2] = 1
		}
	}
	check(t, want, o.Cells())
}

// One visit with two of three features, and of the metrics three.
func TestOtherFeaturesAndMetrics(t *testing.T) {
	o := New("referrer", "page", "device").Keep("day_unique", "day_views", "month_views")
	o.Visit(&models.Visit{ID: "1", SiteID: "s", GUID: "g", TS: at(t, "2018-10-31 23:59:59"), Features: []string{"fb", "", "phone"}})
	want := Cells{}
	for _, f := range [][2]string{{"", ""}, {"fb", ""}, {"", "phone"}, {"fb", "phone"}} {
		features := `|referrer="` + f[0] + `"|page=""|device="` + f[1] + `"`
		october := `cardinality.counts|siteid="s"|month_interval_start=2018-10-01T00:00:00Z` + features
		want[october+`|metric_type="day_unique"|interval_start=2018-10-31T00:00:00Z`] = 1
		want[`cardinality.guiddata|siteid="s"|interval_size="day"|interval_start=2018-10-31T00:00:00Z|bucket="b2"|guid="g"`+features] = 1
		if f != [2]string{"fb", "phone"} {
			want[october+`|metric_type="day_views"|interval_start=2018-10-31T00:00:00Z`] = 1
			want[october+`|metric_type="month_views"|interval_start=2018-10-01T00:00:00Z`] = 1
		}
	}
	check(t, want, o.Cells())
}

// The last day of 2018 is a Monday: the first ISO week of 2019 belongs to December.
func TestAWeekMayBelongToTheYearBefore(t *testing.T) {
	o := New()
	o.Visit(&models.Visit{ID: "1", SiteID: "s", GUID: "g", TS: at(t, "2019-01-06 12:00:00"), Features: []string{"", ""}})
	name := Name("cardinality.counts", "siteid", "s", "month_interval_start", time.Date(2018, 12, 1, 0, 0, 0, 0, time.UTC),
		"feature1", "", "feature2", "", "metric_type", "week_unique", "interval_start", time.Date(2018, 12, 31, 0, 0, 0, 0, time.UTC))
	if o.Cells()[name] != 1 {
		t.Errorf("no %s in %v", name, o.Cells())
	}
}
