package plot

import (
	_ "embed" // the shapes are part of the binary
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Shapes of countries, as paths of SVG: a line each, with the country's code, or - for land that has none. They are those of Natural Earth at
// 1:110,000,000, which is in the public domain, by way of world-atlas 2.0.2. The projection is Equal Earth, without the Antarctic.
//
//go:embed world.tsv
var worldShapes string

// worldBox is the part of the drawing that has land.
const worldBox = "48 0 668 312"

// shades is how many there are besides that of no number.
const shades = 5

// World is a map of numbers by country. The shapes have no small islands and city states: it goes with a table.
type World struct {
	ID     string // begins the ids in the plot; it must be one, and the only one on its page
	Title  string // for those who do not see the plot
	Desc   string // what it shows, in a sentence
	Noun   string // what is counted: "clicks"
	Counts map[string]int64
	Name   func(code string) string
}

// shaped are the countries that have a shape.
var shaped = func() map[string]bool {
	codes := map[string]bool{}
	for line := range strings.Lines(worldShapes) {
		code, _, _ := strings.Cut(line, "\t")
		codes[code] = true
	}
	return codes
}()

// Missing is the sum of the numbers that the map cannot show: those of countries without a shape.
func (w World) Missing() (sum int64) {
	for code, n := range w.Counts {
		if !shaped[code] {
			sum += n
		}
	}
	return sum
}

// SVG draws. Colours are the style sheet's: s1 for few to s5 for the most.
func (w World) SVG() template.HTML {
	highest := int64(1)
	for _, n := range w.Counts {
		highest = max(highest, n)
	}
	var land, counted strings.Builder
	for line := range strings.Lines(worldShapes) {
		code, shape, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n := w.Counts[code]
		if n <= 0 {
			land.WriteString(shape)
			continue
		}
		// The area of what is large is large: by the root, what is small is seen as well.
		shade := math.Ceil(shades * math.Sqrt(float64(n)/float64(highest)))
		fmt.Fprintf(&counted, `<path class="s%d" d="%s"><title>%s: %s %s</title></path>`, int(shade), shape, template.HTMLEscapeString(w.Name(code)), Number(n), template.HTMLEscapeString(w.Noun))
	}
	return template.HTML(fmt.Sprintf(`<svg class="world" role="img" aria-labelledby="%[1]s-t %[1]s-d" viewBox="%[4]s">`+
		`<title id="%[1]s-t">%[2]s</title><desc id="%[1]s-d">%[3]s</desc><path d="%[5]s"/>%[6]s</svg>`,
		template.HTMLEscapeString(w.ID), template.HTMLEscapeString(w.Title), template.HTMLEscapeString(w.Desc), worldBox, land.String(), counted.String()))
}
