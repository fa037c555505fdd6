package mock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Shop makes up what a small shop counts: visits of its sites and clicks on its links, up to this minute.
type Shop struct {
	r   *rand.Rand
	ids int
}

// ShopSite is the site that is visited most.
const ShopSite = "shop.example"

// ShopLink is the link that is clicked most.
const ShopLink = "autumn-sale"

// The shop's sites and links, the busiest first.
var (
	shopSites = []string{ShopSite, "journal.example", "docs.example", "status.example"}
	shopLinks = []string{ShopLink, "newsletter-47", "poster-berlin", "instagram-bio", "catalogue", "x7Kp2", "lamp3", "friends"}
)

// ShopFeatures are the names of what a visit of the shop has.
var ShopFeatures = []string{"referrer", "page"}

var (
	places  = []string{"DE", "US", "FR", "IT", "GB", "NL", "AT", "CH", "ES", "PL", "JP", "BR", "ZZ"}
	sources = []string{"", "google.com", "news.ycombinator.com", "duckduckgo.com", "facebook.com", "bing.com", "reddit.com", "lobste.rs", "mastodon.social", "github.com", "t.co", "linkedin.com"}
	pages   = []string{"/", "/shop", "/shop/lamps", "/about", "/shop/chairs", "/journal/how-a-lamp-is-made", "/shop/tables", "/cart", "/contact", "/journal", "/imprint", "/shop/lamps/pendant-no-3-in-oak-and-brass"}
)

// NewShop makes a shop. The same shop does the same.
func NewShop() *Shop { return &Shop{r: rand.New(rand.NewPCG(7, 11))} }

// Past is what happened in 75 days before now: clicks, and visits by site.
func (s *Shop) Past(now time.Time) (clicks []Click, visits map[string][]Visit) {
	for _, at := range s.moments(now, 75, 160) {
		clicks = append(clicks, s.click(ShopLink, at))
	}
	for i, link := range shopLinks[1:] {
		for _, at := range s.moments(now, 0, 90/(i+1)) {
			clicks = append(clicks, s.click(link, at))
		}
	}
	visits = map[string][]Visit{}
	for _, at := range s.moments(now, 60, 220) {
		visits[ShopSite] = append(visits[ShopSite], s.visit(at))
	}
	for i, site := range shopSites[1:] {
		for _, at := range s.moments(now, 10, 40/(i+1)) {
			visits[site] = append(visits[site], s.visit(at))
		}
	}
	return clicks, visits
}

// Next is what happens now: a click, or a visit of a site.
func (s *Shop) Next(now time.Time) (c *Click, site string, v *Visit) {
	if s.r.IntN(2) == 0 {
		made := s.click(s.weighted(shopLinks), now)
		return &made, "", nil
	}
	made := s.visit(now)
	return nil, s.weighted(shopSites), &made
}

func (s *Shop) id() string {
	s.ids++
	return fmt.Sprint(s.ids)
}

func (s *Shop) click(link string, at time.Time) Click {
	c := Click{ID: s.id(), Link: link, IP: address(s.r.IntN(4000)), At: at, Country: s.weighted(places), Referrer: s.weighted(sources), Bot: s.r.IntN(12) == 0, Agent: Agents[min(len(Agents)-1, int(s.r.ExpFloat64()*2.5))]}
	if s.r.IntN(9) == 0 {
		amount := int64(990 + 500*s.r.IntN(30))
		c.Amount = &amount
	}
	return c
}

func (s *Shop) visit(at time.Time) Visit {
	return Visit{ID: s.id(), GUID: fmt.Sprint(s.r.IntN(3000)), At: at, Features: []string{s.weighted(sources[1:]), s.weighted(pages)}}
}

// weighted picks early values more often than late ones.
func (s *Shop) weighted(values []string) string {
	return values[min(len(values)-1, int(s.r.ExpFloat64()*float64(len(values))/4))]
}

// moments are times of n events or so for each of the days before now, more of them in the afternoon and on workdays.
func (s *Shop) moments(now time.Time, days, n int) (out []time.Time) {
	for d := days; d >= 0; d-- {
		day := now.Truncate(24*time.Hour).AddDate(0, 0, -d)
		here := float64(n) * (1 + 0.6*math.Sin(float64(days-d)/9)) * (0.7 + 0.6*s.r.Float64())
		if w := day.Weekday(); w == time.Saturday || w == time.Sunday {
			here *= 0.55
		}
		for range int(here) {
			hour := math.Mod(24+15+4.5*s.r.NormFloat64(), 24)
			if at := day.Add(time.Duration(hour * float64(time.Hour))); at.Before(now) {
				out = append(out, at)
			}
		}
	}
	return out
}
