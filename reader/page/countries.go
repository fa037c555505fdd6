package page

import (
	"cmp"
	_ "embed" // the list is part of the binary
	"html/template"
	"strings"

	"footfall/models"
	"footfall/reader/plot"
	"footfall/reader/stats"
)

// The list of the time zone database, which is in the public domain.
//
//go:embed countries.tsv
var countryList string

var countries = func() map[string]string {
	names := map[string]string{models.UnknownCountry: "Unknown"}
	for line := range strings.Lines(countryList) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		names[code] = name
	}
	return names
}()

// country is the name of a country; a code that has none is its own.
func country(code string) string { return cmp.Or(countries[code], code) }

// countryAndCode is the name and the code, which other tools have.
func countryAndCode(code string) string {
	if name := countries[code]; name != "" && code != models.UnknownCountry {
		return name + " · " + code
	}
	return country(code)
}

// worldMap shows clicks by country, largest first, and says what it leaves out. It is empty if no country is known.
func worldMap(shares []stats.Share) (drawn template.HTML, note string) {
	counts := map[string]int64{}
	for _, s := range shares {
		if s.Label != models.UnknownCountry {
			counts[s.Label] = s.Count
		}
	}
	if len(counts) == 0 {
		return "", ""
	}
	desc := "Most: " + country(shares[0].Label) + ", " + count(shares[0].Count, "click") + ". The numbers are in the table beside it."
	world := plot.World{ID: "world", Title: "Clicks by country", Desc: desc, Noun: "clicks", Counts: counts, Name: country}
	if missing := world.Missing(); missing == 1 {
		note = "1 click is from a country too small for this map."
	} else if missing > 1 {
		note = count(missing, "click") + " are from countries too small for this map."
	}
	return world.SVG(), note
}
