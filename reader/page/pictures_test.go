package page

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	shoot "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/test/harness/chromium"
)

var (
	pictures = flag.String("page.pictures", "", "take pictures of all pages into this folder")
	format   = flag.String("page.format", "webp", "of the pictures: webp, png or jpeg")
)

type browser struct{ context.Context }

// openBrowser starts a headless Chromium.
func openBrowser(t *testing.T) browser {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser: not with -short")
	}
	return browser{chromium.Open(t, "hide-scrollbars")}
}

// look is how a page is looked at.
type look struct {
	name   string
	width  int64
	scheme string
}

var looks = []look{{"desktop-light", 1280, "light"}, {"desktop-dark", 1280, "dark"}, {"phone-light", 390, "light"}, {"phone-dark", 390, "dark"}}

func (l look) take(t *testing.T, ctx browser, url string) {
	t.Helper()
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(l.width, 800), chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
}

// picture is the whole page, as far as it can be scrolled.
func (l look) picture(t *testing.T, ctx browser) []byte {
	t.Helper()
	height := evaluate[float64](t, ctx, `document.documentElement.scrollHeight`)
	quality, beyond := int64(82), true
	params := shoot.CaptureScreenshotParams{Format: shoot.CaptureScreenshotFormat(*format), CaptureBeyondViewport: &beyond,
		Clip: &shoot.Viewport{Width: float64(l.width), Height: height, Scale: 1}}
	if *format != "png" {
		params.Quality = &quality
	}
	taken, err := chromedp.Call(ctx, shoot.CaptureScreenshot, params)
	if err != nil {
		t.Fatal(err)
	}
	return taken.Data
}

// pictured is a minute of a shop's afternoon.
func pictured() stats.Minute {
	m, r := minute(time.Hour), rand.New(rand.NewPCG(3, 5))
	for n, beat := range []*stats.Beat{&m.Clicks, &m.Visits} {
		mean := []float64{0.9, 0.7}[n]
		beat.Counted = 0
		for i := range beat.Bars {
			beat.Bars[i] = int64(max(0, mean+math.Sqrt(mean)*r.NormFloat64()))
			beat.Counted += beat.Bars[i]
		}
	}
	return m
}

// signIn asks everybody for a read key, as the reader does.
func signIn(t *testing.T) http.Handler {
	return newHandler(reader(shared(t)), Options{Now: func() time.Time { return today }, Allow: func(*http.Request) (May, *Denied) {
		return nil, &Denied{Status: http.StatusUnauthorized, Detail: "it opens with a read key, or by a share link"}
	}})
}

// forHolder shows everybody what one may see.
func forHolder(t *testing.T, may holder) http.Handler {
	return newHandler(reader(shared(t)), Options{Now: func() time.Time { return today }, Allow: func(*http.Request) (May, *Denied) { return may, nil }})
}

// TestPictures takes pictures of every page, with counts and with none:
//
//	go test ./reader/page -run TestPictures -page.pictures ../../docs/pictures
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("only with -page.pictures")
	}
	ctx := openBrowser(t)
	now := Options{Now: func() time.Time { return today }, Pulse: pictured}
	full := httptest.NewServer(newHandler(reader(shared(t)), now))
	defer full.Close()
	now.Pulse = func() stats.Minute {
		return stats.Minute{Since: today, Read: today, Watched: time.Minute, End: today.Add(time.Second)}
	}
	none := httptest.NewServer(newHandler(reader(statstest.NewMemory(demoPlan(t))), now))
	defer none.Close()
	closed, passedOn := httptest.NewServer(signIn(t)), httptest.NewServer(forHolder(t, holder{site: "shop.example"}))
	defer closed.Close()
	defer passedOn.Close()
	shots := []struct{ name, url string }{
		{"home", full.URL + "/"}, {"home-empty", none.URL + "/"}, {"home-shared", passedOn.URL + "/?share=x"},
		{"link", full.URL + "/links/autumn-sale"}, {"link-hours", full.URL + "/links/autumn-sale?range=24h"}, {"link-line", full.URL + "/links/autumn-sale?from=2026-10-20&last=2026-11-18&by=hour"},
		{"link-empty", none.URL + "/links/abc"},
		{"site", full.URL + "/sites/shop.example"}, {"site-filtered", full.URL + "/sites/shop.example?referrer=google.com&period=2026-10&metric=views"},
		{"site-day", full.URL + "/sites/shop.example?period=2026-11-18"},
		{"site-range", full.URL + "/sites/shop.example?from=2026-09-20&last=2026-11-18"},
		{"site-not-kept", full.URL + "/sites/shop.example?period=2026-11-18&metric=unique"}, {"site-empty", none.URL + "/sites/site1"},
		{"site-gone", full.URL + "/sites/shop.example?period=1999-05"}, {"link-gone", full.URL + "/links/autumn-sale?from=1999-05-01&last=1999-05-31"}, {"sign-in", closed.URL + "/sites/shop.example"},
		{"problem-parameter", full.URL + "/sites/shop.example?refferer=google.com"}, {"problem", full.URL + "/sites/shop.example?period=yesterday"},
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, shot := range shots {
		for _, l := range looks {
			l.take(t, ctx, shot.url)
			data := l.picture(t, ctx)
			if err := os.WriteFile(filepath.Join(*pictures, shot.name+"-"+l.name+"."+*format), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
