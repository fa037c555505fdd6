package page

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// today is the day of all tests: a Wednesday.
var today = time.Date(2026, 11, 18, 14, 3, 30, 0, time.UTC)

// counted is a reader whose consumer runs, whatever the day of the test is.
type counted struct{ *stats.Reader }

var well = stats.AsOf{Time: today.Add(-8 * time.Second), Lag: 12, Counting: true}

func (c counted) Link(ctx context.Context, link string) (stats.Link, error) {
	l, err := c.Reader.Link(ctx, link)
	l.AsOf = well
	return l, err
}

func (c counted) Site(ctx context.Context, site string, p stats.Period, features map[string]string) (stats.Site, error) {
	s, err := c.Reader.Site(ctx, site, p, features)
	s.AsOf = well
	return s, err
}

func (c counted) SiteSeries(ctx context.Context, q stats.SeriesQuery) (stats.Series, error) {
	s, err := c.Reader.SiteSeries(ctx, q)
	s.AsOf = well
	return s, err
}

func (c counted) BusiestLinks(ctx context.Context, day models.Millis, limit int, of []models.NameRange) (stats.Top, error) {
	top, err := c.Reader.BusiestLinks(ctx, day, limit, of)
	top.AsOf = well
	return top, err
}

func (c counted) BusiestSites(ctx context.Context, month models.Millis, metric stats.Metric, limit int, of []models.NameRange) (stats.Top, error) {
	top, err := c.Reader.BusiestSites(ctx, month, metric, limit, of)
	top.AsOf = stats.AsOf{Time: today, Counting: true}
	return top, err
}

func demoPlan(t testing.TB) *models.Plan {
	plan, err := models.NewPlan([]string{"referrer", "page"}, models.AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// weighted picks early values more often than late ones.
func weighted(r *rand.Rand, values []string) string {
	return values[min(len(values)-1, int(r.ExpFloat64()*float64(len(values))/4))]
}

var (
	places  = []string{"DE", "US", "FR", "IT", "GB", "NL", "AT", "CH", "ES", "PL", "JP", "BR", models.UnknownCountry}
	sources = []string{"", "google.com", "news.ycombinator.com", "duckduckgo.com", "facebook.com", "bing.com", "reddit.com", "lobste.rs", "mastodon.social", "github.com", "t.co", "linkedin.com"}
	pages   = []string{"/", "/shop", "/shop/lamps", "/about", "/shop/chairs", "/journal/how-a-lamp-is-made", "/shop/tables", "/cart", "/contact", "/journal", "/imprint", "/shop/lamps/pendant-no-3-in-oak-and-brass"}
)

// moments are times of n events or so for each of the days before now, more of them in the afternoon and on workdays.
func moments(r *rand.Rand, days, n int) (out []time.Time) {
	for d := days; d >= 0; d-- {
		day := today.Truncate(24*time.Hour).AddDate(0, 0, -d)
		here := float64(n) * (1 + 0.6*math.Sin(float64(days-d)/9)) * (0.7 + 0.6*r.Float64())
		if w := day.Weekday(); w == time.Saturday || w == time.Sunday {
			here *= 0.55
		}
		for range int(here) {
			hour := math.Mod(24+15+4.5*r.NormFloat64(), 24)
			if at := day.Add(time.Duration(hour * float64(time.Hour))); at.Before(today) {
				out = append(out, at)
			}
		}
	}
	return out
}

var (
	sharedOnce sync.Once
	sharedDemo *statstest.Memory
)

// shared is demo for tests that do not change it.
func shared(t testing.TB) *statstest.Memory {
	sharedOnce.Do(func() { sharedDemo = demo(t) })
	return sharedDemo
}

// demo is a store with a shop's counts.
func demo(t testing.TB) *statstest.Memory {
	r := rand.New(rand.NewPCG(7, 11))
	m := statstest.NewMemory(demoPlan(t))
	click := func(link string, at time.Time, id int) *models.Click {
		c := &models.Click{V: 1, ID: fmt.Sprint(id), ShortURL: link, IP: fmt.Sprint(r.IntN(4000)), Country: weighted(r, places), TS: models.Millis(at.UnixMilli()), Referrer: weighted(r, sources), Bot: r.IntN(12) == 0}
		if r.IntN(9) == 0 {
			amount := int64(990 + 500*r.IntN(30))
			c.Amount = &amount
		}
		return c
	}
	for i, at := range moments(r, 75, 160) {
		c := click("autumn-sale", at, i)
		m.Add(c)
		if at.After(today.Add(-time.Hour)) {
			m.Keep(t, models.LatestClick{ShortURL: c.ShortURL, Day: c.TS.Day(), TS: c.TS, ID: c.ID, Country: c.Country, Referrer: c.Referrer, IP: c.IP, Bot: c.Bot})
		}
	}
	for i, link := range []string{"newsletter-47", "poster-berlin", "instagram-bio", "catalogue", "x7Kp2", "lamp3", "friends"} {
		for j, at := range moments(r, 0, 90/(i+1)) {
			m.Add(click(link, at, 100000+1000*i+j))
		}
	}
	m.Lead(t, "autumn-sale", "https://shop.example/shop?utm_source=newsletter&utm_campaign=autumn-2026")
	visit := func(site string, at time.Time, id int) *models.Visit {
		return &models.Visit{V: 1, ID: fmt.Sprint(id), SiteID: site, GUID: fmt.Sprint(r.IntN(3000)), TS: models.Millis(at.UnixMilli()), Features: []string{weighted(r, sources[1:]), weighted(r, pages)}, Plan: m.Plan()}
	}
	for i, at := range moments(r, 60, 220) {
		m.Add(visit("shop.example", at, i))
	}
	for i, site := range []string{"journal.example", "docs.example", "status.example"} {
		for j, at := range moments(r, 10, 40/(i+1)) {
			m.Add(visit(site, at, 200000+1000*i+j))
		}
	}
	m.Retire(t, models.Millis(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC).UnixMilli()), true)
	return m
}

func reader(m *statstest.Memory) counted { return counted{stats.New(m, "clicks", "visits")} }
