package plot

import (
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

func day(text string) models.Millis {
	t, err := time.Parse("2006-01-02", text)
	if err != nil {
		panic(err)
	}
	return models.Millis(t.UnixMilli())
}

// series has n points from the interval that a day is in.
func series(unit stats.Unit, from string, n int) []stats.Point {
	points := make([]stats.Point, n)
	start := unit.Start(day(from))
	for i := range points {
		points[i] = stats.Point{Start: start, Count: int64((i*37)%100 + i%7*20)}
		start = unit.End(start)
	}
	return points
}

func TestDates(t *testing.T) {
	f := func(unit stats.Unit, from string, n int, width float64, want string) {
		t.Helper()
		var texts []string
		for _, l := range dates(unit, series(unit, from, n), width) {
			texts = append(texts, l.text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%d %ss from %s on %v: %s, want %s", n, unit, from, width, got, want)
		}
	}
	f(stats.Day, "2026-11-01", 0, 600, "")
	f(stats.Day, "2026-11-01", 1, 250, "1 Nov")
	f(stats.Day, "2026-11-02", 7, 600, "2 Nov|3 Nov|4 Nov|5 Nov|6 Nov|7 Nov|8 Nov")
	f(stats.Day, "2026-11-01", 30, 600, "1 Nov|6 Nov|11 Nov|16 Nov|21 Nov|26 Nov")
	f(stats.Day, "2026-11-01", 30, 250, "2 Nov|9 Nov|16 Nov|23 Nov")
	f(stats.Hour, "2026-11-01", 24, 600, "1 Nov|02:00|04:00|06:00|08:00|10:00|12:00|14:00|16:00|18:00|20:00|22:00")
	f(stats.Hour, "2026-11-01", 24, 250, "1 Nov|06:00|12:00|18:00")
	f(stats.Month, "2025-12-01", 12, 600, "Dec|2026|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov")
	f(stats.Month, "2025-12-01", 12, 250, "2026|Apr|Jul|Oct")
	f(stats.Week, "2025-12-01", 52, 600, "Dec|2026|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov")
	f(stats.Month, "1970-01-01", 800, 250, "1975|2000|2025")
	f(stats.Hour, "2026-11-01", 1, 250, "1 Nov")
}

// No label may touch another or leave the plot, and there is always one.
func TestLabelsHaveRoom(t *testing.T) {
	for _, unit := range []stats.Unit{stats.Hour, stats.Day, stats.Week, stats.Month} {
		for _, from := range []string{"2025-12-24", "2026-11-16"} {
			for n := 1; n <= 800; n += 1 + n/100*4 {
				points := series(unit, from, n)
				for _, l := range layouts {
					checkRoom(t, unit, points, l.width)
				}
			}
		}
	}
}

func checkRoom(t *testing.T, unit stats.Unit, points []stats.Point, width float64) {
	t.Helper()
	labels := dates(unit, points, width)
	ends := []float64{-leftRoom - labelGap}
	for _, l := range labels {
		from, to := box(l, len(points), width)
		if from < ends[len(ends)-1]+labelGap || to > width+rightRoom {
			t.Fatalf("%d %ss from %v on %v: %v", len(points), unit, points[0].Start.Time(), width, labels)
		}
		ends = append(ends, to)
	}
	if len(labels) == 0 {
		t.Fatalf("%d %ss from %v on %v have no label", len(points), unit, points[0].Start.Time(), width)
	}
}

func TestWords(t *testing.T) {
	f := func(unit stats.Unit, want string) {
		t.Helper()
		if got := Words(unit, unit.Start(day("2026-11-03")).Time()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(stats.Hour, "Tue 3 November 2026, 00:00")
	f(stats.Day, "Tue 3 November 2026")
	f(stats.Week, "Week of 2 November 2026")
	f(stats.Month, "November 2026")
}
