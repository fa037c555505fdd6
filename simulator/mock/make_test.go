package mock

import (
	"net/netip"
	"reflect"
	"testing"
	"time"
)

func sample() Plan {
	return Plan{
		Site: "site1", Guids: 100, Visits: 5000, Seed: 1,
		From: time.Date(2018, 10, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2018, 11, 1, 0, 0, 0, 0, time.UTC),
		Features: []Feature{{"feature1", []string{"facebook.com", "google.com"}}, {"feature2", []string{"/a", "/b", "/c"}}},
		Clicks:   5000, Links: []string{"l", "m", "n"}, Countries: []string{"IT", "DE"}, Referers: []string{"facebook.com"},
	}
}

func TestTheSamePlanMakesTheSame(t *testing.T) {
	if !reflect.DeepEqual(MakeVisits(sample()), MakeVisits(sample())) || !reflect.DeepEqual(MakeClicks(sample()), MakeClicks(sample())) {
		t.Error("two runs differ")
	}
	fewer := sample()
	fewer.Clicks = 1
	all := MakeVisits(sample())
	for i, v := range MakeVisits(fewer) {
		if w := all[i]; v.GUID != w.GUID || v.At != w.At {
			t.Fatalf("other clicks changed visit %d", i)
		}
	}
}

// No two plans share an id: one event of them would be taken for a duplicate.
func TestIDsAreOfOnePlanAndOneEvent(t *testing.T) {
	plans := map[string]func(*Plan){
		"none": func(*Plan) {}, "seed": func(p *Plan) { p.Seed = 2 }, "site": func(p *Plan) { p.Site = "site2" },
		"number": func(p *Plan) { p.Visits++ }, "guids": func(p *Plan) { p.Guids++ }, "to": func(p *Plan) { p.To = p.To.AddDate(0, 0, 1) },
		"values": func(p *Plan) { p.Features[0].Values[0] = "x" }, "zipf": func(p *Plan) { p.Zipf = 1.1 },
	}
	seen := map[string]string{}
	for name, change := range plans {
		p := sample()
		change(&p)
		for _, id := range append(idsOf(MakeVisits(p)), MakeClicks(p)[0].ID) {
			if other, ok := seen[id]; ok {
				t.Fatalf("%s is an id of %s and of %s", id, name, other)
			}
			seen[id] = name
		}
	}
}

func idsOf(visits []Visit) []string {
	var out []string
	for _, v := range visits {
		out = append(out, v.ID)
	}
	return out
}

func TestVisitsAreWithinThePlan(t *testing.T) {
	p := sample()
	guids, values, days := map[string]int{}, map[string]int{}, map[int]int{}
	for _, v := range MakeVisits(p) {
		guids[v.GUID]++
		values[v.Features[0]]++
		values[v.Features[1]]++
		days[v.At.Day()]++
		if v.At.Before(p.From) || !v.At.Before(p.To) || v.At.Nanosecond() != 0 {
			t.Fatalf("a visit at %s", v.At)
		}
	}
	if len(guids) != p.Guids || len(values) != 5 || len(days) != 31 {
		t.Errorf("%d guids, %d values, %d days", len(guids), len(values), len(days))
	}
	for value, n := range values {
		if n < 1000 { // a third of 5,000 is 1,667
			t.Errorf("%s %d times only", value, n)
		}
	}
}

func TestClicksAreWithinThePlan(t *testing.T) {
	links, ips, bots, direct, worth, refunds := map[string]int{}, map[string]int{}, 0, 0, 0, 0
	for _, c := range MakeClicks(sample()) {
		links[c.Link]++
		ips[c.IP]++
		if ip, err := netip.ParseAddr(c.IP); err != nil || ip.String() != c.IP || ip.Unmap() != ip {
			t.Fatalf("%s is not how the producer writes it", c.IP)
		}
		if c.Bot {
			bots++
		}
		if c.Referrer == "" {
			direct++
		}
		if c.Amount != nil {
			worth++
			if *c.Amount < 0 {
				refunds++
			}
		}
	}
	if len(links) != 3 || len(ips) != 100 || bots < 100 || bots > 500 || direct < 100 || direct > 500 {
		t.Errorf("%d links, %d IPs, %d bots, %d direct", len(links), len(ips), bots, direct)
	}
	if worth < 1500 || worth > 1850 || refunds < 80 || refunds > 260 { // a third of 5,000, and a tenth of that
		t.Errorf("%d amounts, %d below 0", worth, refunds)
	}
}

// A plan may be longer than a time.Duration.
func TestALongPlanIsUsedToItsEnd(t *testing.T) {
	p := sample()
	p.From, p.To = time.Date(1973, 4, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	last := p.From
	for _, v := range MakeVisits(p) {
		if v.At.Before(p.From) || !v.At.Before(p.To) {
			t.Fatalf("a visit at %s", v.At)
		}
		if v.At.After(last) {
			last = v.At
		}
	}
	if last.Year() < 9900 { // 5,000 visits in 8,000 years
		t.Errorf("the last visit is at %s", last)
	}
}

func TestZipfMakesTheFirstMorePopular(t *testing.T) {
	p := sample()
	p.Zipf = 1.5
	pages := map[string]int{}
	for _, v := range MakeVisits(p) {
		pages[v.Features[1]]++
	}
	// 1, 2^-1.5, 3^-1.5 of their sum: 65 %, 23 % and 12 % of 5,000.
	for page, want := range map[string]int{"/a": 3236, "/b": 1144, "/c": 622} {
		if got := pages[page]; got < want-150 || got > want+150 {
			t.Errorf("%s %d times, want about %d", page, got, want)
		}
	}
}
