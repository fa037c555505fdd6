package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden compares drawings with those that were looked at. -update writes them.
func TestGolden(t *testing.T) {
	week := Times{ID: "p", Title: "Clicks by day", Desc: "2 to 8 November 2026", Noun: "clicks", Unit: stats.Day,
		Points: series(stats.Day, "2026-11-02", 7), Before: series(stats.Day, "2026-10-26", 7), Now: day("2026-11-06") + 1}
	many := Times{ID: "p", Title: "Clicks by hour", Desc: "November 2026", Noun: "clicks", Unit: stats.Hour,
		Points: series(stats.Hour, "2026-11-01", 72), Now: day("2026-11-03") + 1}
	none := Times{ID: "p", Title: "Clicks by day", Desc: "nothing", Noun: "clicks", Unit: stats.Day}
	for name, plot := range map[string]Times{"bars": week, "line": many, "none": none} {
		got := []byte(strings.ReplaceAll(string(plot.SVG()), "><", ">\n<") + "\n")
		file := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v): look at it, then run with -update\n%s", file, err, got)
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}

func TestEveryPlotIsWellFormed(t *testing.T) {
	for _, n := range []int{0, 1, 2, MaxBars, MaxBars + 1, 800} {
		for _, now := range []models.Millis{0, day("2025-01-01"), day("2026-11-02"), day("2027-01-01")} {
			points := series(stats.Day, "2026-11-01", n)
			if n > 1 {
				points[0].Count, points[1].Count = math.MaxInt64, -5
			}
			plot := Times{ID: `"><b>`, Title: "<script>", Desc: "a & b", Noun: "<i>", Unit: stats.Day, Points: points, Before: series(stats.Day, "2026-01-01", 900), Now: now}
			text := string(plot.SVG())
			wellFormed(t, text)
			if strings.Contains(text, "<script") || strings.Contains(text, "<i>") || strings.Contains(text, "style=") || strings.Contains(text, "NaN") {
				t.Errorf("%d points: %s", n, text)
			}
			for _, want := range []string{`role="img"`, "<title", "<desc"} {
				if !strings.Contains(text, want) {
					t.Errorf("%d points have no %s", n, want)
				}
			}
		}
	}
}

func TestTheUnfinishedIsDashedAndTheFutureEmpty(t *testing.T) {
	plot := Times{Unit: stats.Day, Points: series(stats.Day, "2026-11-01", 30), Now: day("2026-11-16") + 5}
	text := string(plot.SVG())
	if bars := strings.Count(text, "<g><title>"); bars != 16 || strings.Count(text, `class="open"`) != 1 || !strings.Contains(text, "Mon 16 November 2026: 75") || !strings.Contains(text, "so far</title>") {
		t.Errorf("%d bars: %s", bars, text)
	}
	plot.Points = series(stats.Day, "2026-09-01", 90)
	if text := string(plot.SVG()); strings.Count(text, `class="line open"`) != 1 || !strings.Contains(text, "M1510,300 L1530,472") || strings.Contains(text, "L1550,") {
		t.Errorf("%s", text)
	}
	plot.Now = 0
	if text := string(plot.SVG()); strings.Contains(text, "open") {
		t.Errorf("nothing is unfinished: %s", text)
	}
}

func TestBar(t *testing.T) {
	f := func(share float64, want string) {
		t.Helper()
		if got := string(Bar(share)); !strings.Contains(got, `width="`+want+`%"`) {
			t.Errorf("%v: %s", share, got)
		}
	}
	f(0, "0")
	f(0.4321, "43.21")
	f(7, "100")
	f(-1, "0")
	f(math.NaN(), "0")
}

// TestPlotsAreDescribed: whoever does not see a plot is told its title, and what it shows.
func TestPlotsAreDescribed(t *testing.T) {
	got := string(Times{ID: "p", Title: "Clicks by day", Desc: "Most: 12 clicks & more", Unit: stats.Day}.SVG())
	if !strings.Contains(got, `<title id="p-t">Clicks by day</title><desc id="p-d">Most: 12 clicks &amp; more</desc>`) {
		t.Error(got)
	}
}
