package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Page is a page that is asked for, and how that went.
type Page struct {
	URL  string
	Want string // what the page must contain

	Took   []time.Duration // of each answer, from when its request was due, sorted
	Errors []error
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
			}
			return
		case <-time.After(time.Until(due)):
		}
		page := pages[i%len(pages)]
		under.Go(func() {
			err := page.Get(client)
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if page.Took = append(page.Took, took); err != nil {
				page.Errors = append(page.Errors, err)
			}
		})
	}
}

// Get asks once.
func (p *Page) Get(client *http.Client) error {
	response, err := client.Get(p.URL)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered %s", p.URL, response.Status)
	case !strings.Contains(string(text), p.Want):
		return fmt.Errorf("%s does not contain %q", p.URL, p.Want)
	}
	return nil
}

// Percentile is the p-th percentile; 0 of none.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
