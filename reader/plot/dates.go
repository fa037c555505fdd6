package plot

import (
	"time"
	"unicode/utf8"

	"footfall/reader/stats"
)

// layout is a width that labels are placed for, in CSS pixels. They have room on all that are wider.
type layout struct {
	class string
	width float64
}

// layouts are the phone's and all others. The style sheet shows the second from 45em on.
var layouts = []layout{{"narrow", 250}, {"wide", 600}}

const (
	charWidth  = 7.5 // of 12 px text, at the most on the average of a date
	labelGap   = 10  // between two labels
	leftRoom   = 44  // the margins that the style sheet gives the plot
	rightRoom  = 16
	hoursOfDay = 24
)

// label is a date on the horizontal axis, in the middle of the interval at an index.
type label struct {
	at   int
	text string
}

// step is a distance of dates on the axis. start tells whether an interval begins a new one.
type step struct {
	start func(t time.Time, unit stats.Unit) bool
	text  func(t time.Time) string
}

// steps are tried from the finest on.
var steps = []step{
	everyHours(1), everyHours(2), everyHours(3), everyHours(6), everyHours(12),
	everyDays(1), everyDays(2), everyDays(5), mondays(1), mondays(2),
	everyMonths(1), everyMonths(3), everyMonths(6),
	everyYears(1), everyYears(2), everyYears(5), everyYears(10), everyYears(25), everyYears(100), everyYears(1000),
}

func everyHours(n int) step {
	return step{func(t time.Time, unit stats.Unit) bool { return unit == stats.Hour && t.Hour()%n == 0 }, func(t time.Time) string {
		if t.Hour() == 0 {
			return t.Format("2 Jan")
		}
		return t.Format("15:04")
	}}
}

func midnight(t time.Time) bool { return t.Hour() == 0 }

// everyDays begins anew each month, and leaves out the days that would crowd its first.
func everyDays(n int) step {
	return step{func(t time.Time, unit stats.Unit) bool {
		return (unit == stats.Hour || unit == stats.Day) && midnight(t) && (t.Day()-1)%n == 0 && (n == 1 || t.Day() <= 31-n)
	}, func(t time.Time) string { return t.Format("2 Jan") }}
}

func mondays(n int) step {
	return step{func(t time.Time, unit stats.Unit) bool {
		_, week := t.ISOWeek()
		return unit != stats.Month && midnight(t) && t.Weekday() == time.Monday && week%n == 0
	}, func(t time.Time) string { return t.Format("2 Jan") }}
}

// everyMonths is at the first interval that begins in the month.
func everyMonths(n int) step {
	return step{func(t time.Time, unit stats.Unit) bool { return beginsMonth(t, unit) && (int(t.Month())-1)%n == 0 }, func(t time.Time) string {
		if t.Month() == time.January {
			return t.Format("2006")
		}
		return t.Format("Jan")
	}}
}

func beginsMonth(t time.Time, unit stats.Unit) bool {
	return midnight(t) && (t.Day() == 1 || unit == stats.Week && t.Day() <= 7)
}

func everyYears(n int) step {
	return step{func(t time.Time, unit stats.Unit) bool {
		return beginsMonth(t, unit) && t.Month() == time.January && t.Year()%n == 0
	}, func(t time.Time) string { return t.Format("2006") }}
}

// dates places labels under points: those of the finest step that has room. The very first of an axis that starts within a step has no
// label: it would say a date that is another interval's.
func dates(unit stats.Unit, points []stats.Point, width float64) []label {
	for _, s := range steps {
		var out []label
		for i, p := range points {
			if t := p.Start.Time(); s.start(t, unit) {
				out = append(out, label{i, s.text(t)})
			}
		}
		if out = inside(out, len(points), width); len(out) > 0 && roomy(out, len(points), width) {
			return out
		}
	}
	if len(points) == 0 {
		return nil
	}
	return []label{{len(points) / 2, points[len(points)/2].Start.Time().Format("2 Jan 2006")}}
}

// box is where a label begins and ends.
func box(l label, points int, width float64) (from, to float64) {
	middle := (float64(l.at) + 0.5) / float64(points) * width
	half := charWidth * float64(utf8.RuneCountInString(l.text)) / 2
	return middle - half, middle + half
}

// inside leaves out labels that would be cut off.
func inside(labels []label, points int, width float64) (out []label) {
	for _, l := range labels {
		if from, to := box(l, points, width); from >= -leftRoom && to <= width+rightRoom {
			out = append(out, l)
		}
	}
	return out
}

func roomy(labels []label, points int, width float64) bool {
	for i := 1; i < len(labels); i++ {
		_, end := box(labels[i-1], points, width)
		if begin, _ := box(labels[i], points, width); begin < end+labelGap {
			return false
		}
	}
	return true
}

// Words writes an interval as people say it: "Tuesday 3 November 2026, 14:00", "week of 2 November 2026", "November 2026".
func Words(unit stats.Unit, start time.Time) string {
	switch unit {
	case stats.Hour:
		return start.Format("Mon 2 January 2006, 15:04")
	case stats.Week:
		return start.Format("Week of 2 January 2006")
	case stats.Month:
		return start.Format("January 2006")
	}
	return start.Format("Mon 2 January 2006")
}
