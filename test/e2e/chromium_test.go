package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"footfall/test/harness/chromium"
)

// browser is a headless Chromium with a profile of its own.
type browser struct {
	context.Context
	said chromium.Said
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{Context: chromium.Open(t)}
}

// tab is one page.
type tab struct {
	context.Context
	close context.CancelFunc
}

// tab opens a tab and collects what the browser logs about it.
func (b *browser) tab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b)
	t.Cleanup(cancel)
	opened := &tab{ctx, cancel}
	opened.run(t)
	b.said.Listen(ctx)
	return opened
}

func (p *tab) run(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(p, actions...); err != nil {
		t.Fatal(err)
	}
}

// follow clicks a link and waits until its page is loaded.
func (p *tab) follow(t *testing.T, id string) {
	t.Helper()
	if _, err := chromedp.RunResponse(p, chromedp.Click("#"+id)); err != nil {
		t.Fatal(err)
	}
	title, err := chromedp.Run(p, chromedp.Title())
	if err != nil || title != "/"+id {
		t.Fatalf("on %s after following %s: %v", title, id, err)
	}
}

// clean checks what the script leaves behind: no cookies, and one entry in the tab's session storage.
func (p *tab) clean(t *testing.T) {
	t.Helper()
	stored, err := chromedp.Run(p, chromedp.Evaluate[string](`JSON.stringify([Object.keys(localStorage), Object.keys(sessionStorage)])`))
	if err != nil || stored != `[[],["footfall"]]` {
		t.Errorf("stored: %s, %v", stored, err)
	}
	cookies, err := chromedp.CallBrowser(p, storage.GetCookies, storage.GetCookiesParams{})
	if err != nil || len(cookies.Cookies) > 0 {
		t.Errorf("cookies: %+v, %v", cookies, err)
	}
}
