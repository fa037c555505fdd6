package plot

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"footfall/models"
	"footfall/reader/stats"
)

// Times is a number over time. Up to MaxBars points are bars, more are a line.
type Times struct {
	ID    string // begins the ids in the plot; it must be one, and the only one on its page
	Title string // for those who do not see the plot
	Desc  string // what it shows, in a sentence
	Noun  string // what is counted: "clicks"
	Unit  stats.Unit
	// Points has every interval, oldest first, those of zero too.
	Points []stats.Point
	// Before is the previous period, a faint line: the first is at the place of the first of Points. Those beyond Points are not drawn.
	Before []stats.Point
	// Now is in the unfinished interval, which is dashed. Intervals after it are empty.
	Now models.Millis
}

// MaxBars is how many points are still bars: a finger's breadth of a phone has five of them.
const MaxBars = 62

// The drawing is in whole numbers: each interval is cell wide, and the vertical axis tall high.
const (
	cell = 20
	tall = 1000
)

// SVG draws. Height and margins are the style sheet's.
func (t Times) SVG() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="plot" role="img" aria-labelledby="%s-t %[1]s-d"><title id="%[1]s-t">%[2]s</title><desc id="%[1]s-d">%[3]s</desc>`,
		template.HTMLEscapeString(t.ID), template.HTMLEscapeString(t.Title), template.HTMLEscapeString(t.Desc))
	axis := ticks(t.highest())
	top := axis[len(axis)-1]
	for _, v := range axis {
		y := 100 - 100*v/top
		fmt.Fprintf(&b, `<line class="grid" x2="100%%" y1="%.4g%%" y2="%.4[1]g%%"/><text class="y" x="-8" y="%.4[1]g%%" dy=".32em">%s</text>`, y, axisNumber(v, top))
	}
	if len(t.Points) > 0 {
		fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" preserveAspectRatio="none">`, cell*len(t.Points), tall)
		if len(t.Points) <= MaxBars {
			t.bars(&b, top)
		} else {
			t.line(&b, top)
		}
		if n := min(len(t.Before), len(t.Points)); n > 0 {
			fmt.Fprintf(&b, `<path class="before" d="%s"/>`, path(t.Before[:n], top))
		}
		b.WriteString(`</svg>`)
		t.labels(&b)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

func (t Times) highest() int64 {
	highest := int64(0)
	for _, p := range t.Points {
		highest = max(highest, p.Count)
	}
	for _, p := range t.Before[:min(len(t.Before), len(t.Points))] {
		highest = max(highest, p.Count)
	}
	return highest
}

// height is that of a number in the drawing. What is there is seen, however small; less than nothing is not drawn.
func height(n int64, top float64) int {
	if n <= 0 {
		return 0
	}
	return max(4, int(math.Round(tall*float64(n)/top)))
}

func (t Times) unfinished(p stats.Point) bool { return p.Start <= t.Now && t.Now < t.Unit.End(p.Start) }

// bars draws one for each point; the column that it stands in says its number.
func (t Times) bars(b *strings.Builder, top float64) {
	for i, p := range t.Points {
		if p.Start > t.Now && t.Now > 0 {
			return // the future has no numbers
		}
		class, still := "", ""
		if t.unfinished(p) {
			class, still = ` class="open"`, " so far"
		}
		h := height(p.Count, top)
		fmt.Fprintf(b, `<g><title>%s: %s %s%s</title><rect class="hit" x="%d" width="%d" height="%d"/><rect%s x="%d" y="%d" width="%d" height="%d"/></g>`,
			Words(t.Unit, p.Start.Time()), Number(p.Count), template.HTMLEscapeString(t.Noun), still, i*cell, cell, tall, class, i*cell+3, tall-h, cell-6, h)
	}
}

// line draws an area under a line. Its last part, to the unfinished point, is dashed.
func (t Times) line(b *strings.Builder, top float64) {
	done := t.Points
	if t.Now > 0 {
		n := 0
		for n < len(done) && t.Unit.End(done[n].Start) <= t.Now {
			n++
		}
		done = done[:n]
	}
	if len(done) > 0 {
		d := path(done, top)
		last := cell*(len(done)-1) + cell/2
		fmt.Fprintf(b, `<path class="area" d="%sL%d,%d L%d,%d"/><path class="line" d="%[1]s"/>`, d, last, tall, cell/2, tall)
	}
	if n := len(done); n < len(t.Points) && t.unfinished(t.Points[n]) && n > 0 {
		fmt.Fprintf(b, `<path class="line open" d="M%d,%d L%d,%d"/>`, cell*(n-1)+cell/2, tall-height(done[n-1].Count, top),
			cell*n+cell/2, tall-height(t.Points[n].Count, top))
	}
}

// path goes through the middle of each interval.
func path(points []stats.Point, top float64) string {
	var b strings.Builder
	for i, p := range points {
		command := 'L'
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&b, "%c%d,%d ", command, cell*i+cell/2, tall-height(p.Count, top))
	}
	return b.String()
}

func (t Times) labels(b *strings.Builder) {
	for _, l := range layouts {
		fmt.Fprintf(b, `<g class="%s">`, l.class)
		for _, at := range dates(t.Unit, t.Points, l.width) {
			fmt.Fprintf(b, `<text class="x" x="%.4g%%" y="100%%" dy="1.6em">%s</text>`, 100*(float64(at.at)+0.5)/float64(len(t.Points)), at.text)
		}
		b.WriteString(`</g>`)
	}
}
