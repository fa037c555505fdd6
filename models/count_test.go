package models

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// counted lists what an event adds, a line per cell. first tells which sightings are new; nil: all.
func counted(e Event, first func(Sighting) bool) []string {
	sightings := e.Sightings()
	answers := make([]bool, len(sightings))
	for i, s := range sightings {
		answers[i] = first == nil || first(s)
	}
	var lines []string
	e.Count(answers, func(k Key, c Cell, n int64) {
		where := k.Name
		if k.Keyspace == Cardinality {
			where += " " + k.Month.Time().Format("2006-01-02") + " " + strings.Join(k.Features.Values(), "+")
		} else if k.Month != 0 || k.Features != "" {
			where += " (a link has no month or features)"
		}
		what := c.Counter
		if c.At != 0 {
			what += " " + c.At.Time().Format("2006-01-02T15")
		}
		if c.Label != "" {
			what += " " + c.Label
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s %+d", k.Keyspace, where, what, n))
	})
	return lines
}

func expect(t *testing.T, got []string, want string) {
	t.Helper()
	wanted := strings.Split(strings.TrimSpace(want), "\n")
	for i := range wanted {
		wanted[i] = strings.TrimSpace(wanted[i])
	}
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(wanted, "\n  "))
	}
}

func never(Sighting) bool { return false }

func TestClickCounts(t *testing.T) {
	c := &Click{ShortURL: "abc", IP: "203.0.113.7", Country: "IT", TS: at(t, "2015-07-15T14:59:59.999"), Referrer: "news.example", Plan: planOf(DefaultFeatures(), []string{DayViews})}
	expect(t, counted(c, nil), `
		urlshortener: abc: clickcounter +1
		urlshortener: abc: hourcounters 2015-07-15T14 +1
		urlshortener: abc: daycounters 2015-07-15T00 +1
		urlshortener: abc: countrycounters IT +1
		urlshortener: abc: referrercounters news.example +1
		urlshortener: abc: uniquecounter +1`)
	expect(t, counted(c, never), `
		urlshortener: abc: clickcounter +1
		urlshortener: abc: hourcounters 2015-07-15T14 +1
		urlshortener: abc: daycounters 2015-07-15T00 +1
		urlshortener: abc: countrycounters IT +1
		urlshortener: abc: referrercounters news.example +1`)
	want := []Sighting{{Keyspace: URLShortener, Name: "abc", Visitor: "203.0.113.7"}}
	if got := c.Sightings(); !slices.Equal(got, want) {
		t.Errorf("sightings %+v, want %+v", got, want)
	}

	c.Country, c.Referrer = "", "" // unknown, and a direct click
	expect(t, counted(c, never), `
		urlshortener: abc: clickcounter +1
		urlshortener: abc: hourcounters 2015-07-15T14 +1
		urlshortener: abc: daycounters 2015-07-15T00 +1
		urlshortener: abc: countrycounters ZZ +1
		urlshortener: abc: referrercounters +1`)

	for amount, sum := range map[int64]string{1999: "+1999", 0: "+0", -5: "-5"} {
		c.Amount = worth(amount)
		expect(t, counted(c, never), `
			urlshortener: abc: clickcounter +1
			urlshortener: abc: hourcounters 2015-07-15T14 +1
			urlshortener: abc: daycounters 2015-07-15T00 +1
			urlshortener: abc: countrycounters ZZ +1
			urlshortener: abc: referrercounters +1
			urlshortener: abc: num_values 2015-07-15T00 +1
			urlshortener: abc: sum_values 2015-07-15T00 `+sum)
	}

	c.Bot = true
	expect(t, counted(c, nil), `urlshortener: abc: botcounter +1`)
	if got := c.Sightings(); len(got) != 0 {
		t.Errorf("a bot has sightings: %+v", got)
	}
}

// Each dimension that the plan keeps has every click once, also one that lacks it.
func TestClickCountsByMonth(t *testing.T) {
	c := &Click{ShortURL: "abc", IP: "203.0.113.7", Country: "IT", TS: at(t, "2015-07-15T14:59:59.999"), Referrer: "news.example", Agent: Agent{Browser: "Firefox", System: "Linux", Device: "desktop"}}
	const allTime = `
		urlshortener: abc: clickcounter +1
		urlshortener: abc: hourcounters 2015-07-15T14 +1
		urlshortener: abc: daycounters 2015-07-15T00 +1`
	expect(t, counted(c, never), allTime+`
		urlshortener: abc: countrycounters IT +1
		urlshortener: abc: referrercounters news.example +1
		urlshortener: abc: country 2015-07-01T00 IT +1
		urlshortener: abc: referrer 2015-07-01T00 news.example +1
		urlshortener: abc: browser 2015-07-01T00 Firefox +1
		urlshortener: abc: system 2015-07-01T00 Linux +1
		urlshortener: abc: device 2015-07-01T00 desktop +1`)
	c.Country, c.Referrer, c.Browser, c.System, c.Device = "", "", "", "", ""
	expect(t, counted(c, never), allTime+`
		urlshortener: abc: countrycounters ZZ +1
		urlshortener: abc: referrercounters +1
		urlshortener: abc: country 2015-07-01T00 ZZ +1
		urlshortener: abc: referrer 2015-07-01T00 +1
		urlshortener: abc: browser 2015-07-01T00 +1
		urlshortener: abc: system 2015-07-01T00 +1
		urlshortener: abc: device 2015-07-01T00 +1`)
	c.Plan = planOf(DefaultFeatures(), []string{MonthViews, DeviceMonths, CountryMonths})
	expect(t, counted(c, never), allTime+`
		urlshortener: abc: countrycounters ZZ +1
		urlshortener: abc: referrercounters +1
		urlshortener: abc: country 2015-07-01T00 ZZ +1
		urlshortener: abc: device 2015-07-01T00 +1`)
	c.Bot = true
	expect(t, counted(c, nil), `urlshortener: abc: botcounter +1`)
}

func TestVisitCounts(t *testing.T) {
	v := &Visit{SiteID: "site1", GUID: "g", TS: at(t, "2018-10-17T13:45:30.123"), Features: []string{"fb", "/"}}
	expect(t, counted(v, nil), `
		cardinality: site1 2018-10-01 +: month_unique 2018-10-01T00 +1
		cardinality: site1 2018-10-01 +: week_unique 2018-10-15T00 +1
		cardinality: site1 2018-10-01 +: day_unique 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +: month_views 2018-10-01T00 +1
		cardinality: site1 2018-10-01 +: day_views 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +: hour_views 2018-10-17T13 +1
		cardinality: site1 2018-10-01 fb+: month_unique 2018-10-01T00 +1
		cardinality: site1 2018-10-01 fb+: week_unique 2018-10-15T00 +1
		cardinality: site1 2018-10-01 fb+: day_unique 2018-10-17T00 +1
		cardinality: site1 2018-10-01 fb+: month_views 2018-10-01T00 +1
		cardinality: site1 2018-10-01 fb+: day_views 2018-10-17T00 +1
		cardinality: site1 2018-10-01 fb+: hour_views 2018-10-17T13 +1
		cardinality: site1 2018-10-01 +/: month_unique 2018-10-01T00 +1
		cardinality: site1 2018-10-01 +/: week_unique 2018-10-15T00 +1
		cardinality: site1 2018-10-01 +/: day_unique 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +/: month_views 2018-10-01T00 +1
		cardinality: site1 2018-10-01 +/: day_views 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +/: hour_views 2018-10-17T13 +1
		cardinality: site1 2018-10-01 fb+/: month_unique 2018-10-01T00 +1
		cardinality: site1 2018-10-01 fb+/: week_unique 2018-10-15T00 +1
		cardinality: site1 2018-10-01 fb+/: day_unique 2018-10-17T00 +1`)
	// the visitor was seen this month and under fb, but not today, nor on this page
	expect(t, counted(v, func(s Sighting) bool {
		return s.Features == NewFeatures("", "/") || (s.Interval == IntervalDay && s.Features == NewFeatures("", ""))
	}), `
		cardinality: site1 2018-10-01 +: day_unique 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +: month_views 2018-10-01T00 +1
		cardinality: site1 2018-10-01 +: day_views 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +: hour_views 2018-10-17T13 +1
		cardinality: site1 2018-10-01 fb+: month_views 2018-10-01T00 +1
		cardinality: site1 2018-10-01 fb+: day_views 2018-10-17T00 +1
		cardinality: site1 2018-10-01 fb+: hour_views 2018-10-17T13 +1
		cardinality: site1 2018-10-01 +/: month_unique 2018-10-01T00 +1
		cardinality: site1 2018-10-01 +/: week_unique 2018-10-15T00 +1
		cardinality: site1 2018-10-01 +/: day_unique 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +/: month_views 2018-10-01T00 +1
		cardinality: site1 2018-10-01 +/: day_views 2018-10-17T00 +1
		cardinality: site1 2018-10-01 +/: hour_views 2018-10-17T13 +1`)
}

// A week belongs to the month of its Monday, so this visit touches two months.
func TestVisitInAWeekOverTheEndOfAMonth(t *testing.T) {
	v := &Visit{SiteID: "site1", GUID: "g", TS: at(t, "2018-11-01T00:00:00.000"), Features: []string{"", ""}}
	expect(t, counted(v, nil), `
		cardinality: site1 2018-11-01 +: month_unique 2018-11-01T00 +1
		cardinality: site1 2018-10-01 +: week_unique 2018-10-29T00 +1
		cardinality: site1 2018-11-01 +: day_unique 2018-11-01T00 +1
		cardinality: site1 2018-11-01 +: month_views 2018-11-01T00 +1
		cardinality: site1 2018-11-01 +: day_views 2018-11-01T00 +1
		cardinality: site1 2018-11-01 +: hour_views 2018-11-01T00 +1`)
	month, week, day := at(t, "2018-11-01T00:00:00.000"), at(t, "2018-10-29T00:00:00.000"), at(t, "2018-11-01T00:00:00.000")
	none := NewFeatures("", "")
	want := []Sighting{
		{Cardinality, "site1", "g", IntervalMonth, month, none},
		{Cardinality, "site1", "g", IntervalWeek, week, none},
		{Cardinality, "site1", "g", IntervalDay, day, none},
	}
	if got := v.Sightings(); !slices.Equal(got, want) {
		t.Errorf("sightings %+v, want %+v", got, want)
	}
}

func TestKafkaKeyIsTheVisitorOfALinkOrSite(t *testing.T) {
	c, v := goodClick(), goodVisit()
	if c.KafkaKey() != "abc|203.0.113.7" || v.KafkaKey() != "site1|guid" {
		t.Errorf("keys %q and %q", c.KafkaKey(), v.KafkaKey())
	}
	if c.EventID() != "id" || v.EventID() != "id" {
		t.Errorf("ids %q and %q", c.EventID(), v.EventID())
	}
}

// Buckets are what `printf %s GUID | md5sum | cut -c1-2` prints. They must never change: rows in tables have them.
func TestBucketEqualsMd5sum(t *testing.T) {
	for guid, want := range map[string]string{"": "d4", "a": "0c", "962e0c3a-6c08-4160-9196-f0050faffe62": "8c"} {
		if got := Bucket(guid); got != want {
			t.Errorf("Bucket(%q) = %q, want %q", guid, got, want)
		}
	}
	seen := map[string]bool{}
	for i := range 10000 {
		seen[Bucket(fmt.Sprint(i))] = true
	}
	if len(seen) != 256 {
		t.Errorf("10,000 visitors share %d buckets, want 256", len(seen))
	}
}
