package oracle

import (
	"time"

	"footfall/models"
)

const shortener = "urlshortener."

// click counts one click. A bot's click is counted in botcounter only.
func (o *Oracle) click(e *models.Click) {
	c, link := o.cells, e.ShortURL
	if e.Bot {
		c[Name(shortener+"botcounter", "short_url", link)]++
		return
	}

	country := e.Country
	if country == "" {
		country = "ZZ"
	}

	moment := time.UnixMilli(int64(e.TS)).UTC()
	midnight := startOfDay(moment)
	fullHour := midnight.Add(time.Duration(moment.Hour()) * time.Hour)

	c[Name(shortener+"clickcounter", "short_url", link)]++
	c[Name(shortener+"hourcounters", "short_url", link, "hour", fullHour)]++
	c[Name(shortener+"daycounters", "short_url", link, "day", midnight)]++
	c[Name(shortener+"referrercounters", "short_url", link, "referrer", e.Referrer)]++
	c[Name(shortener+"countrycounters", "short_url", link, "country", country)]++

	for dimension, label := range map[string]string{"country": country, "referrer": e.Referrer, "browser": e.Browser, "system": e.System, "device": e.Device} {
		if o.kept == nil || o.kept[dimension] {
			c[Name(shortener+"monthcounters", "short_url", link, "dimension", dimension, "month", startOfMonth(moment), "label", label)]++
		}
	}

	if e.Amount != nil {
		c[Name(shortener+"amountcounters.num_values", "short_url", link, "day", midnight)]++
		c[Name(shortener+"amountcounters.sum_values", "short_url", link, "day", midnight)] += *e.Amount
	}

	visitor := Name(shortener+"uniquecounterips", "short_url", link, "ip", e.IP)
	if _, known := c[visitor]; !known {
		c[visitor] = 1
		c[Name(shortener+"uniquecounter", "short_url", link)]++
	}
}
