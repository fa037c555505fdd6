// Package chromium starts a browser for tests of pages.
package chromium

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"footfall/test/harness"
)

// patience is how long a browser lives at the most.
const patience = 4 * time.Minute

// Open starts a headless Chromium with a profile of its own, and with these flags besides. It ends with the test.
func Open(t *testing.T, flags ...string) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(harness.NeedDebian(t, "chromium"))}
	for _, flag := range append([]string{
		"headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
		"disable-dev-shm-usage",
	}, flags...) {
		options = append(options, chromedp.Flag(flag, true))
	}
	within, cancelAll := context.WithTimeout(context.Background(), patience)
	allocated, cancelBrowser := chromedp.NewExecAllocator(within, options...)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
		cancelBrowser()
		cancelAll()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	return ctx
}

// Said collects what browsers log: errors of scripts, violations of a policy. The zero value is ready; it is safe for concurrent use.
type Said struct {
	mu    sync.Mutex
	lines []string
}

// Listen collects from a tab until that is closed.
func (s *Said) Listen(tab context.Context) {
	messages := chromedp.Console(tab)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // the tab is closed
			}
			s.mu.Lock()
			s.lines = append(s.lines, fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
			s.mu.Unlock()
		}
	}()
}

// Take is what was said since it was last called.
func (s *Said) Take() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, s.lines = s.lines, nil
	return lines
}
