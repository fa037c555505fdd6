// Package plot draws numbers as SVG: a number over time, a strip of seconds, a map of countries, and the bar of a share. It is pure: the same input gives the same bytes.
//
// Colours and strokes come from the page's style sheet, by class, so that one plot serves light and dark, screen and paper, and a
// page may forbid inline styles. Horizontal positions are percentages, and text is not scaled: one plot serves a phone and a desk.
// It has two sets of labels, narrow and wide, of which the style sheet shows one.
//
//   - ticks.go: round numbers for the vertical axis; dates.go: dates in words for the horizontal one, none over another
//   - times.go: the plot; bar.go: the bar; strip.go: a row of small bars; world.go: a map
package plot
