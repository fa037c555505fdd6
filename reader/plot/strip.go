package plot

import (
	"fmt"
	"html/template"
	"strings"
)

// Strip is a row of small bars without axes, the highest of which has the full height.
type Strip struct {
	ID      string // begins the ids in the plot; it must be one, and the only one on its page
	Title   string // for those who do not see the plot
	Desc    string // what it shows, in a sentence
	Bars    []int64
	Growing int // how many of the last bars may still grow; they are drawn in another colour
}

// SVG draws. Width, height and colours are the style sheet's.
func (s Strip) SVG() template.HTML {
	highest := int64(1)
	for _, n := range s.Bars {
		highest = max(highest, n)
	}
	var done, open strings.Builder
	for i, n := range s.Bars {
		into := &done
		if i >= len(s.Bars)-s.Growing {
			into = &open
		}
		if h := height(n, float64(highest)); h > 0 {
			fmt.Fprintf(into, "M%d,%dv-%dh%dv%[3]dz", i*cell+2, tall, h, cell-4)
		}
	}
	return template.HTML(fmt.Sprintf(`<svg class="strip" role="img" aria-labelledby="%[1]s-t %[1]s-d" viewBox="0 0 %[4]d %[5]d" preserveAspectRatio="none">`+
		`<title id="%[1]s-t">%[2]s</title><desc id="%[1]s-d">%[3]s</desc><path d="%[6]s"/><path class="open" d="%[7]s"/></svg>`,
		template.HTMLEscapeString(s.ID), template.HTMLEscapeString(s.Title), template.HTMLEscapeString(s.Desc), cell*len(s.Bars), tall, done.String(), open.String()))
}
