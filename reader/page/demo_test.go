package page

import (
	"context"
	"sync"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/simulator/mock"
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
	plan, err := models.NewPlan(mock.ShopFeatures, models.AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	return plan
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
	m := statstest.NewMemory(demoPlan(t))
	clicks, visits := mock.NewShop().Past(today)
	for _, made := range clicks {
		c := &models.Click{V: 1, ID: made.ID, ShortURL: made.Link, IP: made.IP, Country: made.Country, TS: models.Millis(made.At.UnixMilli()), Referrer: made.Referrer, Bot: made.Bot, Amount: made.Amount,
			Agent: statstest.Agent(made.Agent)}
		m.Add(c)
		if made.Link == mock.ShopLink && made.At.After(today.Add(-time.Hour)) {
			m.Keep(t, models.LatestClick{ShortURL: c.ShortURL, Day: c.TS.Day(), TS: c.TS, ID: c.ID, Country: c.Country, Referrer: c.Referrer, IP: c.IP, Bot: c.Bot})
		}
	}
	m.Lead(t, mock.ShopLink, "https://shop.example/shop?utm_source=newsletter&utm_campaign=autumn-2026")
	for site, made := range visits {
		for _, v := range made {
			m.Add(&models.Visit{V: 1, ID: v.ID, SiteID: site, GUID: v.GUID, TS: models.Millis(v.At.UnixMilli()), Features: v.Features, Plan: m.Plan()})
		}
	}
	m.Retire(t, models.Millis(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC).UnixMilli()), true)
	return m
}

func reader(m *statstest.Memory) counted { return counted{stats.New(m, "clicks", "visits")} }
