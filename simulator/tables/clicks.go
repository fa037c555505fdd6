package tables

import (
	"slices"
	"time"

	"footfall/simulator/mock"
)

// AddClicks adds the counts of clicks to the tables of links: by month only the dimensions that are among the metrics. Bots are counted apart.
func (c Cells) AddClicks(metrics []string, clicks []mock.Click) {
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
		labels := map[string]string{"country": k.Country, "referrer": k.Referrer}
		for i, dimension := range mock.AgentDimensions {
			labels[dimension] = k.Agent.Names[i]
		}
		for dimension, label := range labels {
			if slices.Contains(metrics, dimension) {
				c[Name("monthcounters", k.Link, dimension, firstOfMonth(k.At), label)]++
			}
		}
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
