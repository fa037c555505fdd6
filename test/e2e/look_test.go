package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"footfall/models"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

var lookFor = flag.Duration("look.for", 8*time.Second, "how long TestLook looks; from 30s on it holds the reader to what is promised")

const (
	lookPages, lookLinks = 10_000, 300
	lookRate             = 1000 // events a second
	lookEvery            = 20 * time.Millisecond
	lookLag              = 2 * time.Second // within which counts are visible
	lookWarm             = 5 * time.Second // of a round, not measured
)

// TestLook opens the first page and a site's page in turns, fifty a second, while a thousand events a second are sent to the producer. The
// site has 10,000 pages in this month. Every page is answered, 95 % of each kind within 100 ms of when it was due, and the consumer keeps
// up. `make look` runs it for 60 seconds. The short form shares the machine with other suites: it is allowed ten times as long, and looks up to
// five times, since for a minute such a machine, or a Cassandra that has just started, may be much slower.
func TestLook(t *testing.T) {
	most, rounds := 100*time.Millisecond, 1
	if *lookFor < 30*time.Second {
		most, rounds = 10*most, 5
	}
	d := prepareReal(t, byDefault)
	d.open(t, 0, "FOOTFALL_LIMITS_NEW_KEYS_PER_MINUTE=0", "FOOTFALL_LIMITS_NEW_VISITORS_PER_MINUTE=0", "FOOTFALL_LIMITS_CLIENT_PER_SECOND=0")
	counter := d.addConsumer(t)
	reader := d.startReader(t)
	before := lookEvents(1, lookPages+lookLinks, func(i int) (int, int) { return i, i - lookPages })
	want, _ := send(t, d, before, load.Once(len(before)), nil)
	d.settle(t, want)
	rankingTakes(t, reader, 3*most)

	r := rand.New(rand.NewPCG(2, 2))
	zipf, link := rand.NewZipf(r, 1.1, 10, lookPages-1), rand.NewZipf(r, 1.1, 10, lookLinks-1)
	for round := 1; ; round++ {
		events := lookEvents(1+round, int((lookWarm+*lookFor).Seconds())*lookRate, func(i int) (int, int) {
			if i%2 == 0 {
				return int(zipf.Uint64()), -1
			}
			return lookPages, int(link.Uint64())
		})
		result, err := lookOnce(t, d, counter, reader, events, most)
		result.Tell(want, events)
		d.settle(t, want)
		if err == nil {
			break
		}
		if round == rounds {
			t.Error(err)
			break
		}
		t.Logf("looking again, since in round %d of %d at the most: %v", round, rounds, err)
	}
	if got := siteViews(t, reader, "large"); got != want.Visits {
		t.Errorf("the reader has %d views of the site, want %d", got, want.Visits)
	}
}

// lookOnce sends the events and opens pages meanwhile. The error has all that was slower than most allows, or was refused; a page that is
// wrong ends the test.
func lookOnce(t *testing.T, d *real, counter *consumer, reader string, events []load.Event, most time.Duration) (*load.Result, error) {
	t.Helper()
	first := d.counted(t, counter)
	began := time.Now()
	wait := sendBehind(t, &load.Client{URL: d.url, Pace: func(place int) {
		time.Sleep(time.Until(began.Add(time.Duration(place) * time.Second / lookRate)))
	}}, events, load.Once(len(events)))
	open := func(long time.Duration) (home, site *load.Page) {
		home = &load.Page{URL: reader + "/", Want: "/links/link-"}
		site = &load.Page{URL: reader + "/sites/large", Want: "/page-"}
		site.Own = func(n int) string { return fmt.Sprintf("%s?feature2=%%2Fpage-%d.html", site.URL, n%lookPages) }
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		load.Ask(ctx, lookEvery, home, site)
		return home, site
	}
	open(lookWarm)
	counted := d.counted(t, counter)
	home, site := open(*lookFor)
	counted = d.counted(t, counter) - counted
	result := wait()
	behind := d.catchUp(t, counter, int(first), len(events))

	var errs []error
	for _, page := range []*load.Page{home, site} {
		p95 := load.Percentile(page.Took, 95)
		t.Logf("%s: %d requests, p50 %v, p95 %v, p99 %v, worst %v, %d errors", page.URL, len(page.Took), rounded(load.Percentile(page.Took, 50)),
			rounded(p95), rounded(load.Percentile(page.Took, 99)), rounded(load.Percentile(page.Took, 100)), len(page.Errors))
		if due := int(*lookFor / lookEvery / 2); len(page.Took)+len(page.OwnTook) < due*98/100 || p95 >= most {
			errs = append(errs, fmt.Errorf("%s: %d of %d requests were sent, and p95 is %v: want below %v", page.URL, len(page.Took)+len(page.OwnTook), due, p95, most))
		}
		errs = append(errs, ownAndOld(t, page, 10*most, 50*most))
		for _, err := range page.Errors {
			if !errors.Is(err, load.ErrBusy) {
				t.Fatal(err) // no machine is too busy for a right page
			}
		}
		if len(page.Errors) > 0 {
			errs = append(errs, fmt.Errorf("%s: %d errors, such as %w", page.URL, len(page.Errors), page.Errors[0]))
		}
	}
	rate := float64(result.Requests) / result.Took.Seconds()
	t.Logf("%d events sent, %.0f a second, and %.0f a second counted while pages were opened", result.Requests, rate, counted/lookFor.Seconds())
	if rate < 0.98*lookRate || behind > 0 {
		errs = append(errs, fmt.Errorf("%.0f events a second were sent, want %d; %d were not counted %v later", rate, lookRate, behind, lookLag))
	}
	return result, errors.Join(errs...)
}

// rankingTakes fails the test unless half of the rankings of all pages take less. The first ones are for Cassandra's caches and compiler.
func rankingTakes(t *testing.T, reader string, most time.Duration) {
	t.Helper()
	page := &load.Page{URL: reader + "/v1/stats/sites/large/top/feature2?metric=unique&limit=10", Want: `"values":10000,"complete":true`}
	for i := range 15 {
		began := time.Now()
		if err := page.Get(http.DefaultClient); err != nil {
			t.Fatal(err)
		}
		if i >= 6 {
			page.Took = append(page.Took, time.Since(began))
		}
	}
	slices.Sort(page.Took)
	median := load.Percentile(page.Took, 50)
	t.Logf("a ranking of %d values: median %v, best %v, worst %v", lookPages, rounded(median), rounded(page.Took[0]), rounded(page.Took[8]))
	if median >= most {
		t.Errorf("a ranking takes %v, want less than %v", median, most)
	}
}

// ownAndOld returns an error if pages that nobody shares take longer than own, or if pages say that they reach less far than old: p95 of each.
// Old is what is not counted yet, up to a second until the consumer notes it, what a page is kept for, and a part of a second in its text.
func ownAndOld(t *testing.T, page *load.Page, own, old time.Duration) error {
	t.Helper()
	took, age := load.Percentile(page.OwnTook, 95), load.Percentile(page.Ages, 95)
	t.Logf("%s: %d requests for pages of their own, p50 %v, p95 %v, worst %v; of %d pages that say how far they reach, p50 %v ago, p95 %v ago", page.URL, len(page.OwnTook),
		rounded(load.Percentile(page.OwnTook, 50)), rounded(took), rounded(load.Percentile(page.OwnTook, 100)), len(page.Ages), rounded(load.Percentile(page.Ages, 50)), rounded(age))
	var errs []error
	if took >= own {
		errs = append(errs, fmt.Errorf("%s: p95 of pages that nobody shares is %v, want below %v", page.URL, took, own))
	}
	if all := len(page.Took) + len(page.OwnTook); len(page.Ages) < all*9/10 || age >= old {
		errs = append(errs, fmt.Errorf("%s: %d of %d pages say how far they reach, and p95 of that is %v ago: want below %v", page.URL, len(page.Ages), all, age, old))
	}
	return errors.Join(errs...)
}

func rounded(took time.Duration) time.Duration { return took.Round(100 * time.Microsecond) }

// lookEvents makes n events of today: visits to a page of a large site, or clicks on a link if there is no such page.
func lookEvents(seed, n int, which func(i int) (page, link int)) []load.Event {
	events := make([]load.Event, n)
	now := models.Millis(time.Now().UnixMilli())
	for i := range events {
		id := fmt.Sprintf("look-%d-%d", seed, i)
		page, link := which(i)
		if page >= lookPages {
			events[i] = load.Event{Click: &models.Click{ID: id, ShortURL: fmt.Sprintf("link-%d", link), TS: now,
				IP: fmt.Sprintf("10.%d.%d.%d", i>>14&127, i>>7&127, i&127), Country: []string{"IT", "DE", "US"}[i%3], Referrer: "news.example"}}
			continue
		}
		events[i] = load.Event{Visit: &models.Visit{ID: id, SiteID: "large", GUID: fmt.Sprintf("%08x-6c08-4160-9196-f0050faffe62", i/5), TS: now,
			Features: []string{fmt.Sprintf("referrer-%d.example", i/5%20), fmt.Sprintf("/page-%d.html", page)}}, Names: byDefault.features}
	}
	return events
}

// counted is how many events a consumer has counted.
func (d *real) counted(t *testing.T, c *consumer) (sum float64) {
	t.Helper()
	got, err := process.Metrics(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range d.Topics {
		sum += got[fmt.Sprintf(`footfall_events_total{outcome="applied",topic=%q}`, topic)]
	}
	return sum
}

// catchUp is how many of the events sent since the consumer had counted first are not counted after lookLag; 0 if 98 % are before.
func (d *real) catchUp(t *testing.T, c *consumer, first, sent int) int {
	t.Helper()
	for deadline := time.Now().Add(lookLag); ; time.Sleep(50 * time.Millisecond) {
		counted := int(d.counted(t, c)) - first
		if counted >= sent*98/100 {
			return 0
		}
		if time.Now().After(deadline) {
			return sent - counted
		}
	}
}

// siteViews is how many views a reader says that a site has in this month.
func siteViews(t *testing.T, reader, site string) (views int64) {
	t.Helper()
	w := &walk{t: t, reader: reader, asked: map[string]bool{}}
	w.ask("/v1/stats/sites/"+site, nil, func(a answer) { views = w.number(a["views"]) })
	return views
}
