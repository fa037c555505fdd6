package tables

import (
	"time"

	"footfall/simulator/mock"
)

// AddClicks adds the counts of clicks to the tables of links. Bots are counted apart.
func (c Cells) AddClicks(clicks []mock.Click) {
	for _, k := range clicks {
		if k.Bot {
			c[Name("botcounter", k.Link)]++
			continue
		}
		c[Name("clickcounter", k.Link)]++
		c[Name("hourcounters", k.Link, k.At.UTC().Truncate(time.Hour))]++
		c[Name("daycounters", k.Link, midnight(k.At))]++
		c[Name("countrycounters", k.Link, k.Country)]++
		c[Name("referrercounters", k.Link, k.Referrer)]++
		if k.Amount != nil {
			c[Name("amountcounters.num_values", k.Link, midnight(k.At))]++
			c[Name("amountcounters.sum_values", k.Link, midnight(k.At))] += *k.Amount
		}
		if seen := Name("uniquecounterips", k.Link, k.IP); c[seen] == 0 {
			c[seen] = 1
			c[Name("uniquecounter", k.Link)]++
		}
	}
}
