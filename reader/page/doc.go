// Package page is what people see of the counts: HTML pages with plots, readable without JavaScript. Everything that a page shows is in
// its URL. It asks Stats, as the API does, and never shows a number that is not kept: it says so, and what can be asked instead.
//
//   - page.go: who may see which page; problem.go: why there is none; render.go: headers, compression; assets.go: the style sheet and the script
//   - place.go: a page's address and those that it leads to; window.go: which time a page shows; gone.go: times of which nothing is kept
//   - same.go, sharing.go: what people who have the same page open share, for half a second and more
//   - pulse.go: the last minute; home.go, link.go, site.go: the pages; view.go: numbers and dates in words; countries.go: names of countries; send.go: commands for a first event
//   - templates/, assets/: HTML, CSS, and a script that keeps the numbers moving
package page
