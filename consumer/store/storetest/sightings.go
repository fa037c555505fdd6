package storetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"footfall/consumer/store"
	"footfall/models"
)

// remember stores first sights: of visitors of sites as entries, each under its own combination.
func (s *suite) remember(t *testing.T, first map[models.Sighting]models.Position) {
	t.Helper()
	var whose []models.Visitor
	var firsts [][]models.First
	entries := map[models.Visitor]map[models.Position]models.First{}
	links := map[models.Sighting]models.Position{}
	for sighting, at := range first {
		if sighting.Keyspace != models.Cardinality {
			links[sighting] = at
			continue
		}
		rows := sighting.Rows()
		under, values := rows[len(rows)-1], sighting.Features.Values()
		_, way := sighting.Row()
		f := entries[under][at]
		f.At, f.Day, f.Features = at, sighting.Start, values
		f.Of[way] |= 1 << models.Present(values)
		if entries[under] == nil {
			entries[under] = map[models.Position]models.First{}
		}
		entries[under][at] = f
	}
	for under, list := range entries {
		whose, firsts = append(whose, under), append(firsts, slices.Collect(maps.Values(list)))
	}
	if err := s.store.RememberFirsts(t.Context(), whose, firsts); err != nil {
		t.Fatalf("RememberFirsts: %v", err)
	}
	sightings, positions := lists(links)
	if err := s.store.Remember(t.Context(), sightings, positions); err != nil {
		t.Fatalf("Remember: %v", err)
	}
	clear(sightings) // the store must not have kept the lists
	clear(positions)
}

// lists returns first sights in the form that a store takes.
func lists(first map[models.Sighting]models.Position) (sightings []models.Sighting, positions []models.Position) {
	for s, at := range first {
		sightings, positions = append(sightings, s), append(positions, at)
	}
	return sightings, positions
}

// wantSeen asks for all the sightings of want and of absent, and checks that exactly those of want are known.
func (s *suite) wantSeen(t *testing.T, want map[models.Sighting]models.Position, absent ...models.Sighting) {
	t.Helper()
	got := map[models.Sighting]models.Position{}
	maps.Copy(got, want)
	for _, sighting := range absent {
		got[sighting] = models.Position{}
	}
	if err := store.FirstEvents(t.Context(), s.store, got); err != nil {
		t.Fatalf("FirstEvents: %v", err)
	}
	wrong := 0
	for sighting, position := range got {
		if position != want[sighting] {
			if wrong++; wrong <= 10 {
				t.Errorf("first sight of %+v is %v, want %v", sighting, position, want[sighting])
			}
		}
	}
	if wrong > 10 {
		t.Errorf("and %d more", wrong-10)
	}
}

func ipOn(link, ip string) models.Sighting {
	return models.Sighting{Keyspace: models.URLShortener, Name: link, Visitor: ip}
}

func guidOn(site, guid, interval string, start models.Millis, features ...string) models.Sighting {
	return models.Sighting{
		Keyspace: models.Cardinality, Name: site, Visitor: guid,
		Interval: interval, Start: start, Features: models.NewFeatures(features...),
	}
}

// testSightings: a sighting that was stored is found, another is not, and storing it again changes nothing.
func testSightings(t *testing.T, s *suite) {
	day := at(t, "2018-10-01 00:00")
	ip, guid := ipOn(name("link"), "203.0.113.7"), guidOn(name("site"), "g1", models.IntervalDay, day, "f1", "f2")
	s.wantSeen(t, nil, ip, guid)

	first := map[models.Sighting]models.Position{
		ip:   {Topic: "log", Partition: 3, Offset: 0},
		guid: {Topic: "log", Partition: 0, Offset: 5_000_000_000_000},
	}
	s.remember(t, first)
	s.wantSeen(t, first)
	s.remember(t, first)
	s.remember(t, map[models.Sighting]models.Position{ip: first[ip]})
	s.wantSeen(t, first)
	s.wantSeen(t, map[models.Sighting]models.Position{ip: first[ip]}, ipOn(ip.Name, "203.0.113.8"))
}

// testSightingsOfSites: a visitor of a site is not looked for among those of links, who would have no row, and is not stored there.
func testSightingsOfSites(t *testing.T, s *suite) {
	guid := []models.Sighting{guidOn(name("site"), "g1", models.IntervalDay, at(t, "2018-10-01 00:00"), "f1", "f2")}
	if first, err := s.store.FirstSeen(t.Context(), guid); err == nil {
		t.Errorf("FirstSeen of a visitor of a site: %v", first)
	}
	if s.store.Remember(t.Context(), guid, []models.Position{{Topic: "log"}}) == nil {
		t.Error("Remember stores a visitor of a site")
	}
}

// testTwins: links whose partitions have the same token on Cassandra's ring are kept apart.
func testTwins(t *testing.T, s *suite) {
	first := map[models.Sighting]models.Position{}
	var strangers []models.Sighting
	twins := [2]string{"O58QaIsQ7ed7KvwZ1Pfs7QN8RrGI_Pwa", "Gt3Zu5inOzqchTwGvywKPAFvAYrMxzma"}
	for i := range int64(20) {
		ip := fmt.Sprint("203.0.113.", i)
		first[ipOn(twins[i%2], ip)] = models.Position{Topic: "clicks", Partition: 1, Offset: i}
		strangers = append(strangers, ipOn(twins[1-i%2], ip))
	}
	s.remember(t, first)
	s.wantSeen(t, first, strangers...)
}

// testSightingsKeptApart: the sightings of one visitor differ in one part only, each with a first event of its own. Those that were
// not stored are not found.
func testSightingsKeptApart(t *testing.T, s *suite) {
	want := map[models.Sighting]models.Position{}
	var absent []models.Sighting
	next := int64(0)
	add := func(sightings ...models.Sighting) {
		for _, sighting := range sightings {
			if next++; next%3 == 0 {
				absent = append(absent, sighting)
			} else {
				want[sighting] = models.Position{Topic: "clicks", Partition: int(next % 6), Offset: next}
			}
		}
	}
	// A link and a site may have the same name, an IP and a guid too.
	one, two := name("same"), name("same")
	for _, n := range []string{one, two} {
		for _, visitor := range []string{"v", "w", "V", "v|w"} {
			add(ipOn(n, visitor))
			for interval, starts := range map[string][]string{ // 1 October 2018 is the first of a month, a Monday and a day
				models.IntervalMonth: {"2018-10-01 00:00", "2018-11-01 00:00"}, models.IntervalWeek: {"2018-10-01 00:00", "2018-10-08 00:00"},
				models.IntervalDay: {"2018-10-01 00:00", "2018-10-02 00:00", "2018-11-01 00:00"},
			} {
				for _, start := range starts {
					for _, f := range models.Combinations([]string{"a", "b"}) {
						values := f.Values()
						add(guidOn(n, visitor, interval, at(t, start), values...))
					}
					add(guidOn(n, visitor, interval, at(t, start), "b", "a"))
				}
			}
		}
	}
	s.remember(t, want)
	s.wantSeen(t, want, absent...)
}

// testSightingText: names, visitors and features of all sorts come back as they were.
func testSightingText(t *testing.T, s *suite) {
	day := at(t, "2018-10-01 00:00")
	link, site := name("link"), name("site")
	want := map[models.Sighting]models.Position{}
	var absent []models.Sighting
	for i, text := range texts {
		p := models.Position{Topic: "clicks", Partition: i % 6, Offset: int64(i)}
		visitor := text
		if len(visitor) > models.MaxIP {
			visitor = "long"
		}
		want[ipOn(link, visitor)] = p
		want[ipOn(short(name("l")+text), "v")] = p
		want[guidOn(site, text, models.IntervalDay, day, "", "")] = p
		want[guidOn(site, text, models.IntervalDay, day, text, "")] = p
		want[guidOn(site, "g", models.IntervalDay, day, text, text)] = p
		absent = append(absent,
			guidOn(site, text, models.IntervalDay, day, "", text),
			guidOn(site, text, models.IntervalWeek, day, "", ""),
			ipOn(site, text),
		)
	}
	s.remember(t, want)
	s.wantSeen(t, want, absent...)
}

// testManySightings: as many sightings as a full chunk has, at once.
func testManySightings(t *testing.T, s *suite) {
	ts := at(t, "2018-10-01 14:00")
	want := map[models.Sighting]models.Position{}
	var absent []models.Sighting
	links, sites := []string{name("link"), name("link")}, []string{name("site"), name("site")}
	for i := range 3000 {
		into := func(sighting models.Sighting) {
			want[sighting] = models.Position{Topic: "clicks", Partition: i % 6, Offset: int64(i)}
		}
		if i%10 == 9 {
			into = func(sighting models.Sighting) { absent = append(absent, sighting) }
		}
		into(ipOn(links[i%2], fmt.Sprintf("10.0.%d.%d", i/256, i%256)))
		v := &models.Visit{SiteID: sites[i%2], GUID: fmt.Sprintf("guid-%d", i), TS: ts}
		if i%5 == 0 {
			v.Features = []string{"facebook.com", "mobile"} // 4 combinations in 3 intervals
		} else {
			v.Features = []string{"", ""}
		}
		for _, sighting := range v.Sightings() {
			into(sighting)
		}
	}
	if len(want)+len(absent) < 15_000 {
		t.Fatalf("only %d sightings", len(want)+len(absent))
	}
	s.remember(t, want)
	s.wantSeen(t, want, absent...)
}
