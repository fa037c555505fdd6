package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/models"
	"footfall/reader/access"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

var now = time.Date(2018, 10, 3, 14, 5, 0, 0, time.UTC)

func millis(text string) models.Millis {
	t, err := stats.ParseMoment("test", text)
	if err != nil {
		panic(err)
	}
	return t
}

// fake answers every question with the same few rows, and remembers what it was asked.
type fake struct {
	err    error
	asked  []any // the last question
	asOf   stats.AsOf
	names  []string
	points iter.Seq2[stats.Point, error]
}

func newFake() *fake {
	return &fake{
		asOf:  stats.AsOf{Time: now, Lag: 3, Counting: true},
		names: []string{"abc", "=1+1", "shop1"},
		points: each([]stats.Point{
			{Start: millis("2018-10-01"), Count: 5}, {Start: millis("2018-10-03"), Count: 7},
		}),
	}
}

func (f *fake) ask(what ...any) error {
	f.asked = what
	return f.err
}

func (f *fake) Plan() *models.Plan { return models.DefaultPlan() }

func (f *fake) Link(_ context.Context, link string) (stats.Link, error) {
	return stats.Link{LinkTotals: stats.LinkTotals{LongURL: "https://x.example/<b>", Clicks: 5, Unique: 3, Bots: 1}, AsOf: f.asOf}, f.ask(link)
}

func (f *fake) LinkSeries(ctx context.Context, link string, by stats.Unit, within stats.Range) (stats.Series, error) {
	return stats.Series{Unit: by, Within: within, AsOf: f.asOf, Points: f.until(ctx)}, f.ask(link, by, within)
}

// until ends the points when ctx does, as a store would.
func (f *fake) until(ctx context.Context) iter.Seq2[stats.Point, error] {
	return func(yield func(stats.Point, error) bool) {
		for p, err := range f.points {
			if ctx.Err() != nil {
				yield(stats.Point{}, ctx.Err())
				return
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

func (f *fake) LinkBreakdown(_ context.Context, link, by string, within stats.Range, limit int) (stats.Shares, error) {
	err := f.ask(link, by, within, limit)
	if !within.Whole() {
		err = errors.Join(err, &stats.NotKept{Asked: "a breakdown of a range", Instead: []string{"all time"}})
	}
	return stats.Shares{AsOf: f.asOf, Rows: each([]stats.Share{{Label: "IT", Count: 4}, {Label: `=cmd|"x"!A1`, Count: -1}})}, err
}

func (f *fake) LinkAmounts(_ context.Context, link string, by stats.Unit, within stats.Range) (stats.Amounts, error) {
	return stats.Amounts{Unit: by, Within: within, AsOf: f.asOf, Rows: each([]stats.Amount{{Start: millis("2018-10-01"), Num: 2, Sum: -250}})}, f.ask(link, by, within)
}

func (f *fake) LinkLatest(_ context.Context, link string, day models.Millis) (stats.Clicks, error) {
	return stats.Clicks{AsOf: f.asOf, Rows: each([]stats.Click{{At: now, Country: "IT", IP: "203.0.113.7", Bot: true, ID: "i"}})}, f.ask(link, day)
}

func (f *fake) list() stats.Names {
	return stats.Names{AsOf: f.asOf, Rows: each(f.names)}
}

func (f *fake) within(of []models.NameRange) stats.Names {
	names := slices.DeleteFunc(slices.Clone(f.names), func(name string) bool {
		return !slices.ContainsFunc(of, func(r models.NameRange) bool { return r.Has(name) })
	})
	return stats.Names{AsOf: f.asOf, Rows: each(names)}
}

func (f *fake) Links(_ context.Context, day models.Millis, of []models.NameRange) (stats.Names, error) {
	return f.within(of), f.ask(day)
}

func (f *fake) Sites(_ context.Context, month models.Millis, of []models.NameRange) (stats.Names, error) {
	return f.within(of), f.ask(month)
}

func (f *fake) Values(_ context.Context, site, feature string, month models.Millis) (stats.Names, error) {
	return f.list(), f.ask(site, feature, month)
}

func (f *fake) Site(_ context.Context, site string, p stats.Period, features map[string]string) (stats.Site, error) {
	views := int64(9)
	return stats.Site{Period: p, Views: &views, Final: true, AsOf: f.asOf}, f.ask(site, p, features)
}

func (f *fake) SiteSeries(ctx context.Context, q stats.SeriesQuery) (stats.Series, error) {
	return stats.Series{Unit: q.By, Within: q.Within, AsOf: f.asOf, FinalBefore: millis("2018-10-02"), Points: f.until(ctx)}, f.ask(q)
}

func (f *fake) SiteTop(_ context.Context, q stats.TopQuery) (stats.Top, error) {
	return stats.Top{Period: q.Period, Metric: q.Metric, Rows: []stats.Share{{Label: "/a", Count: 2}}, Values: 20_000, AsOf: f.asOf}, f.ask(q)
}

func (f *fake) BusiestLinks(context.Context, models.Millis, int, []models.NameRange) (stats.Top, error) {
	return stats.Top{AsOf: f.asOf}, f.ask()
}

func (f *fake) BusiestSites(context.Context, models.Millis, stats.Metric, int, []models.NameRange) (stats.Top, error) {
	return stats.Top{AsOf: f.asOf}, f.ask()
}

func (f *fake) empty() *stats.Reader {
	return stats.New(statstest.NewMemory(f.Plan()), "clicks", "visits")
}

func (f *fake) SiteMonth(ctx context.Context, site string, month models.Millis) (*stats.SiteMonth, error) {
	m, err := f.empty().SiteMonth(ctx, site, month)
	return m, errors.Join(err, f.ask(site, month))
}

func (f *fake) LinkMonth(ctx context.Context, link string, month models.Millis) (*stats.LinkMonth, error) {
	m, err := f.empty().LinkMonth(ctx, link, month)
	return m, errors.Join(err, f.ask(link, month))
}

// newServer answers from a fake; adjust may be nil.
func newServer(t *testing.T, from Stats, who configs.ReadAccess, adjust func(*Config)) *Server {
	t.Helper()
	a, err := access.New(who)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Access: a, MaxInFlight: 4, Timeout: 5 * time.Second, StreamTimeout: time.Minute, Points: 1000, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
	}
	if adjust != nil {
		adjust(&cfg)
	}
	return New(from, cfg)
}

var open = configs.ReadAccess{Open: true}

// get asks without a connection. headers are "Name: value".
func get(s http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	return send(s, http.MethodGet, target, headers...)
}

func send(s http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// reasonOf is the reason of a refusal; empty if it is none.
func reasonOf(t *testing.T, body io.Reader) string {
	t.Helper()
	var r struct{ Error string }
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(text, &r) != nil {
		return ""
	}
	return r.Error
}
