package page

import (
	"cmp"
	"fmt"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// window is the time that a plot shows.
type window struct {
	unit   stats.Unit
	within stats.Range
	choice string // the name of the choice that it is; empty: a range that somebody typed
	note   string // what was changed of what was asked
}

// maxPoints is how many points a plot has: more cannot be told apart, and the page would be too large.
const maxPoints = 800

var larger = map[stats.Unit]stats.Unit{stats.Hour: stats.Day, stats.Day: stats.Week, stats.Week: stats.Month}

func at(t time.Time) models.Millis { return models.Millis(t.UnixMilli()) }

// lastUnits is the n units that end with the one that now is in.
func lastUnits(unit stats.Unit, n int, now models.Millis) window {
	end := unit.End(unit.Start(now))
	return window{unit: unit, within: stats.Range{From: back(unit, end, n), To: end}}
}

// back is n units before the start of one.
func back(unit stats.Unit, start models.Millis, n int) models.Millis {
	if unit == stats.Month {
		return at(start.Time().AddDate(0, -n, 0))
	}
	return start - models.Millis(n)*(unit.End(0)-0)
}

// size is how many intervals a window has.
func (w window) size() (n int) {
	for t := w.within.From; t < w.within.To && n <= maxPoints; t = w.unit.End(t) {
		n++
	}
	return n
}

// before is the window of the same size that ends where this one begins.
func (w window) before() (stats.Range, bool) {
	from := back(w.unit, w.within.From, w.size())
	return stats.Range{From: from, To: w.within.From}, w.within.From > 0 && from > 0
}

// chosen reads from, last (the last day that is shown) and by. Whole units are shown, and not more than maxPoints of them.
func chosen(p place, now models.Millis) (w window, err error) {
	if w.unit, err = stats.ParseUnit(cmp.Or(p.q.Get("by"), string(stats.Day))); err != nil {
		return w, err
	}
	today := now.Time().Format(models.Daily)
	last, err := stats.ParseMoment("last", cmp.Or(p.q.Get("last"), today))
	if err != nil {
		return w, err
	}
	from, err := stats.ParseMoment("from", cmp.Or(p.q.Get("from"), back30(last)))
	if err != nil {
		return w, err
	}
	smallest := stats.Day
	if w.unit == stats.Hour {
		smallest = stats.Hour
	}
	switch {
	case stats.Day.Start(last) != last:
		return w, &stats.Malformed{Field: "last", Detail: "want a whole day, such as 2018-10-03"}
	case smallest.Start(from) != from:
		asked := stats.Range{From: from, To: stats.Day.End(last)}
		return w, &stats.NotAligned{Unit: smallest, Asked: asked, Aligned: stats.Range{From: smallest.Start(from), To: asked.To}}
	}
	if last < from {
		return w, &stats.Malformed{Field: "last", Detail: "want a day that is not before the first one"}
	}
	if from < models.Earliest && last >= models.Earliest {
		from = models.Earliest // no event can be older
	}
	asked := w.unit
	for {
		w.within = stats.Range{From: w.unit.Start(from), To: w.unit.End(w.unit.Start(last.Day()))}
		if w.unit == stats.Hour {
			w.within.To = stats.Day.End(last.Day())
		}
		next, ok := larger[w.unit]
		if !ok || w.size() <= maxPoints {
			break
		}
		w.unit = next
	}
	if w.size() > maxPoints {
		return w, &stats.TooMuch{Asked: "more than 800 months", Most: "800 months"}
	}
	if w.unit != asked {
		w.note = fmt.Sprintf("These are too many %ss for one plot, so it is by %s. The download has what you ask of it.", asked, w.unit)
	}
	return w, nil
}

func back30(last models.Millis) string {
	return last.Time().AddDate(0, 0, -29).Format(models.Daily)
}

// words is the window as people say it.
func (w window) words() string {
	from, last := w.within.From.Time(), (w.within.To - 1).Time()
	switch {
	case w.unit == stats.Hour && w.within.To-w.within.From <= stats.Day.End(0) && from.Hour() != 0:
		return from.Format("2 January 2006, 15:04") + " – " + w.within.To.Time().Format("2 January, 15:04")
	case from.Format(models.Daily) == last.Format(models.Daily):
		return from.Format("Monday 2 January 2006")
	case w.unit == stats.Month && from.Format(models.Monthly) == last.Format(models.Monthly):
		return from.Format("January 2006")
	case w.unit == stats.Month:
		return from.Format("January 2006") + " – " + last.Format("January 2006")
	case from.Year() != last.Year():
		return from.Format("2 January 2006") + " – " + last.Format("2 January 2006")
	case from.Month() != last.Month():
		return from.Format("2 January") + " – " + last.Format("2 January 2006")
	}
	return from.Format("2") + " – " + last.Format("2 January 2006")
}

// stamp writes an end of a range for the API.
func stamp(t models.Millis) string { return t.Time().Format(time.RFC3339) }
