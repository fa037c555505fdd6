package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Page is a page that is asked for, and how that went.
type Page struct {
	URL  string
	Want string // what the page must contain
	// Own makes an address that nobody else asks for, of the n-th request. Every 5th one is sent there. Default: nil, all are sent to URL.
	Own func(n int) string

	Took    []time.Duration // of each answer of URL, from when its request was due, sorted
	OwnTook []time.Duration // of those that Own made
	Ages    []time.Duration // how far back the page of each answer says that it reaches, sorted; none if it does not say
	Errors  []error
}

// Ask asks for pages in turns, one request every interval, until ctx ends. A request is sent when it is due, whether or not earlier ones
// are answered; what is under way at the end is waited for.
func Ask(ctx context.Context, interval time.Duration, pages ...*Page) {
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	var mu sync.Mutex
	var under sync.WaitGroup
	began := time.Now()
	for i := 0; ; i++ {
		due := began.Add(time.Duration(i) * interval)
		select {
		case <-ctx.Done():
			under.Wait()
			for _, page := range pages {
				slices.Sort(page.Took)
				slices.Sort(page.OwnTook)
				slices.Sort(page.Ages)
			}
			return
		case <-time.After(time.Until(due)):
		}
		page, n := pages[i%len(pages)], i/len(pages)
		at, took := page.URL, &page.Took
		if page.Own != nil && n%5 == 4 {
			at, took = page.Own(n), &page.OwnTook
		}
		under.Go(func() {
			reaches, err := page.get(client, at)
			answered := time.Now()
			mu.Lock()
			defer mu.Unlock()
			*took = append(*took, answered.Sub(due))
			if !reaches.IsZero() {
				page.Ages = append(page.Ages, answered.Sub(reaches))
			}
			if err != nil {
				page.Errors = append(page.Errors, err)
			}
		})
	}
}

// reach is where a page says how far it was counted.
var reach = regexp.MustCompile(`Counted up to <time datetime="([^"]*)"`)

// ErrBusy is what an error of a page wraps if the server answered 503.
var ErrBusy = errors.New("the server is busy")

// Get asks once.
func (p *Page) Get(client *http.Client) error {
	_, err := p.get(client, p.URL)
	return err
}

// get also tells how far the page says that it reaches; zero if it does not.
func (p *Page) get(client *http.Client, at string) (reaches time.Time, err error) {
	response, err := client.Get(at)
	if err != nil {
		return reaches, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return reaches, err
	case response.StatusCode == http.StatusServiceUnavailable:
		return reaches, fmt.Errorf("%s answered %s: %w", at, response.Status, ErrBusy)
	case response.StatusCode != http.StatusOK:
		return reaches, fmt.Errorf("%s answered %s", at, response.Status)
	case !strings.Contains(string(text), p.Want):
		return reaches, fmt.Errorf("%s does not contain %q", at, p.Want)
	}
	if found := reach.FindSubmatch(text); found != nil {
		return time.Parse(time.RFC3339, string(found[1]))
	}
	return reaches, nil
}

// Percentile is the p-th percentile; 0 of none.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
