package page

import (
	"fmt"
	"html/template"
	"time"

	"footfall/reader/plot"
	"footfall/reader/stats"
)

// pulseView is what arrived in the last minute.
type pulseView struct {
	Note  string
	Beats []beatView
	Rows  []pulseRow // newest first
	Quiet bool       // nothing arrived
}

type beatView struct {
	Label, Value, Most string
	SVG                template.HTML
}

type pulseRow struct {
	When, Clicks, Visits string
	Open                 bool // it may still grow
}

// quietAfter is how old what is known of the last minute may be before the page says so.
const quietAfter = 5 * time.Second

// pulse is nil where it is not known, and for those who may not see everything: it is of all links and sites together.
func (h *Handler) pulse(a asked) *pulseView {
	if h.Pulse == nil || !a.may.All() {
		return nil
	}
	m := h.Pulse()
	if m.Since.IsZero() {
		return nil
	}
	v := &pulseView{Note: "Events that consumers took in, repeated ones too", Quiet: m.Clicks.Counted+m.Visits.Counted == 0}
	if m.Watched < time.Minute {
		v.Note += fmt.Sprintf("; watched for %s only", count(int64(m.Watched/time.Second), "second"))
	}
	if m.End.Sub(m.Read) > quietAfter {
		v.Note += "; not read since " + m.Read.UTC().Format("15:04:05 UTC")
	}
	if lag := m.Clicks.Lag + m.Visits.Lag; lag > 0 {
		v.Note += "; " + count(lag, "event") + " more arrived that no consumer has taken in yet"
	}
	v.Note += ". Grey seconds may still grow."
	v.Beats = []beatView{beat("clicks", "Clicks", m.Clicks, m.End), beat("visits", "Visits", m.Visits, m.End)}
	for i := range stats.Bars {
		at := stats.Bars - 1 - i
		if i > int(m.Watched/time.Second) {
			break // nobody watched yet
		}
		v.Rows = append(v.Rows, pulseRow{clock(m.End, at), plot.Number(m.Clicks.Bars[at]), plot.Number(m.Visits.Bars[at]), i < stats.Growing})
	}
	return v
}

// clock is when a bar begins.
func clock(end time.Time, bar int) string {
	return end.UTC().Add(time.Duration(bar-stats.Bars) * time.Second).Format("15:04:05")
}

func beat(noun, label string, b stats.Beat, end time.Time) beatView {
	most := 0
	for i, n := range b.Bars {
		if n > b.Bars[most] {
			most = i
		}
	}
	v := beatView{Label: label, Value: plot.Number(b.Counted), Most: "none"}
	desc := "No " + noun + "."
	if highest := b.Bars[most]; highest > 0 {
		v.Most = "up to " + plot.Number(highest) + " a second"
		desc = fmt.Sprintf("Most: %s %s in a second, at %s. The numbers are in the table below.", plot.Number(highest), noun, clock(end, most))
	}
	v.SVG = plot.Strip{ID: noun + "-minute", Title: label + " by second", Desc: desc, Bars: b.Bars[:], Growing: stats.Growing}.SVG()
	return v
}
