// Package workload makes the events that a bench measures with, the same each time, and puts them onto topics of real Kafka.
package workload

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"footfall/models"
)

// Workload is a list of events that a seed makes, the same each time.
type Workload struct {
	Name   string
	About  string
	Clicks bool // else visits
	make   func(seed uint64, n int) []models.Event
}

// Seed is that of all workloads.
const Seed = 7

// Pieces makes n events, some at a time and each time of another seed, so that memory is bounded.
func (w Workload) Pieces(n int) iter.Seq[[]models.Event] {
	const piece = 300_000
	return func(yield func([]models.Event) bool) {
		for done := 0; done < n; done += piece {
			if !yield(w.make(Seed+uint64(done), min(piece, n-done))) {
				return
			}
		}
	}
}

// Uniques is how many visitors n events have, and the first of them: on links, and on sites by month and day over all features.
func (w Workload) Uniques(n, first int) (all, ofFirst int) {
	seen, done := map[models.Sighting]bool{}, 0
	for events := range w.Pieces(n) {
		for _, e := range events {
			for _, s := range e.Sightings() {
				whole := s.Features == models.NewFeatures("", "") && s.Interval != models.IntervalWeek
				if s.Keyspace == models.URLShortener || whole {
					seen[s] = true
				}
			}
			if done++; done == first {
				ofFirst = len(seen)
			}
		}
	}
	return len(seen), ofFirst
}

// Shorter is by how much Cassandra's limit is measured on less of it: that takes five rounds, and visits take long.
func (w Workload) Shorter() int {
	if w.Clicks {
		return 1
	}
	return 4
}

// All are those that are measured.
var All = []Workload{
	{"clicks", "20,000 links (Zipf 1.1) over 3 days, 30 countries, 11 referrers, a third of the clicks a visitor's first on the link",
		true, func(seed uint64, n int) []models.Event {
			return clicks(seed, n, clickMix{links: 20_000, first: 1. / 3})
		}},
	{"visits", "300 sites (Zipf 1.1) over a month, 10 views per guid in two sittings, 5 referrers, 20 pages per site",
		false, visits},
	{"cold", "as clicks, but 95 % are a visitor's first",
		true, func(seed uint64, n int) []models.Event { return clicks(seed, n, clickMix{links: 20_000, first: 0.95}) }},
	{"viral", "as clicks, but 90 % go to one link",
		true, func(seed uint64, n int) []models.Event {
			return clicks(seed, n, clickMix{links: 20_000, first: 1. / 3, viral: 0.9})
		}},
}

// Clicks makes n clicks as those of the first workload.
func Clicks(n int) []models.Event { return clicks(Seed, n, clickMix{links: 20_000, first: 1. / 3}) }

var start = time.Date(2024, 3, 4, 0, 0, 0, 0, time.UTC) // a Monday

// clickMix says how clicks are spread.
type clickMix struct {
	links uint64
	first float64 // the share that is a visitor's first on the link
	viral float64 // the share that goes to one link; the others as ever
}

func clicks(seed uint64, n int, mix clickMix) []models.Event {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, 1.1, 1, mix.links-1)
	visitors := make([][]uint32, mix.links) // of each link, so far
	firsts := 0
	events := make([]models.Event, n)
	for i := range events {
		link := zipf.Uint64()
		if r.Float64() < mix.viral {
			link = 0
		}
		known := visitors[link]
		visitor := uint32(i)
		if len(known) > 0 && float64(firsts) >= mix.first*float64(i) {
			visitor = known[r.IntN(len(known))]
		} else {
			firsts++
			visitors[link] = append(known, visitor)
		}
		c := &models.Click{
			V: models.Version, ID: id(r), ShortURL: fmt.Sprintf("l%06d", link), IP: address(visitor),
			Country:  countries[min(r.IntN(30), r.IntN(30))],
			TS:       models.Millis(start.Add(time.Duration(float64(3*24*time.Hour) * float64(i) / float64(n))).UnixMilli()),
			Referrer: referrers[min(r.IntN(len(referrers)), r.IntN(len(referrers)))],
			UA:       "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
		}
		events[i] = c
	}
	return events
}

// Sites is how many sites are visited.
const Sites = 300

// Month is when they are visited.
var Month = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)

// SiteName is what one of them is called.
func SiteName(n int) string { return fmt.Sprintf("site%03d", n) }

// visits makes sittings of five views, two of them per guid.
func visits(seed uint64, n int) []models.Event {
	const perSitting, sittings = 5, 2
	r := rand.New(rand.NewPCG(seed, 2))
	sites := rand.NewZipf(r, 1.1, 1, Sites-1)
	pages := rand.NewZipf(r, 1.1, 1, 19)
	events := make([]models.Event, 0, n)
	for len(events) < n {
		site, guid := SiteName(int(sites.Uint64())), id(r)
		for range sittings {
			at := Month.Add(time.Duration(r.Int64N(int64(31*24*time.Hour - time.Hour))))
			referrer := referrers[1+r.IntN(5)]
			for range perSitting {
				at = at.Add(time.Duration(r.Int64N(int64(5 * time.Minute))))
				events = append(events, &models.Visit{
					V: models.Version, ID: id(r), SiteID: site, GUID: guid, TS: models.Millis(at.UnixMilli()),
					Features: []string{referrer, fmt.Sprintf("/page%02d", pages.Uint64())},
				})
			}
		}
	}
	events = events[:n]
	slices.SortStableFunc(events, func(a, b models.Event) int { return int(a.(*models.Visit).TS - b.(*models.Visit).TS) })
	return events
}

var countries = []string{
	"US", "DE", "IN", "GB", "FR", "BR", "JP", "CN", "IT", "ES", "CA", "AU", "NL", "PL", "SE",
	"CH", "AT", "BE", "DK", "NO", "FI", "PT", "CZ", "GR", "TR", "MX", "AR", "KR", "ID", "ZA",
}

var referrers = []string{
	"", "facebook.com", "google.com", "twitter.com", "reddit.com", "linkedin.com", "news.ycombinator.com", "bing.com",
	"duckduckgo.com", "youtube.com", "instagram.com",
}

// id is one as the producer makes them: 36 characters.
func id(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	return fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b), b>>16)
}

func address(n uint32) string {
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

// Encode is an event as it is on a topic.
func Encode(e models.Event) []byte {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // our own types
	}
	return data
}
