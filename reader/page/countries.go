package page

import (
	_ "embed" // the list is part of the binary
	"strings"

	"footfall/models"
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
func country(code string) string { return orElse(countries[code], code) }
