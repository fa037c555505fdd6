package models

import (
	"cmp"
	"time"
)

// UnknownCountry is the country of a click that came without one.
const UnknownCountry = "ZZ"

// The counters of a link: one table each.
const (
	ClickCounter     = "clickcounter"
	HourCounters     = "hourcounters"
	DayCounters      = "daycounters"
	CountryCounters  = "countrycounters"
	ReferrerCounters = "referrercounters"
	UniqueCounter    = "uniquecounter"
	BotCounter       = "botcounter"
)

// The counters of a link that share a table, amountcounters: how many clicks of a day had an amount, and their sum.
const (
	NumValues = "num_values"
	SumValues = "sum_values"
)

// The counters of a link by month that share a table, monthcounters, where each is a dimension. A plan may leave them out.
const (
	CountryMonths  = "country"
	ReferrerMonths = "referrer"
	BrowserMonths  = "browser"
	SystemMonths   = "system"
	DeviceMonths   = "device"
)

// MaxAmount bounds the absolute value of an amount. Nine million of the largest still fit a counter.
const MaxAmount = 1_000_000_000_000

// Click is one click on a short URL.
type Click struct {
	V        int    `json:"v"`
	ID       string `json:"id"`
	ShortURL string `json:"short_url"`
	IP       string `json:"ip"`
	Country  string `json:"country,omitempty"` // ISO 3166 alpha-2; UnknownCountry when empty
	TS       Millis `json:"ts"`
	Referrer string `json:"referrer,omitempty"` // empty: a direct click, counted under ''
	UA       string `json:"ua,omitempty"`
	Bot      bool   `json:"bot,omitempty"`
	// Amount is what the click was worth, in the smallest unit: cents, not euros. Nil: the click has none.
	Amount *int64 `json:"amount,omitempty"`
	// Names that the producer finds in the user agent, one of Browsers, Systems and Devices each. Empty: there is none, the click is a bot's, or
	// it was written before producers knew them.
	Browser string `json:"browser,omitempty"`
	System  string `json:"system,omitempty"`
	Device  string `json:"device,omitempty"`
	Plan    *Plan  `json:"-"` // what is kept of it; DefaultPlan if nil
}

func (c *Click) plan() *Plan { return cmp.Or(c.Plan, defaultPlan) }

// EventID implements Event.
func (c *Click) EventID() string { return c.ID }

// Identity implements Event.
func (c *Click) Identity() Identity { return Identity{c.ShortURL, c.IP, c.ID} }

// KafkaKey implements Event.
func (c *Click) KafkaKey() string { return c.ShortURL + "|" + c.IP }

// Time implements Event.
func (c *Click) Time() time.Time { return c.TS.Time() }

// Validate implements Event.
func (c *Click) Validate() error {
	return firstError(
		version(c.V),
		text("id", c.ID, MaxID, true),
		text("short_url", c.ShortURL, MaxShortURL, true),
		text("ip", c.IP, MaxIP, true),
		country(c.Country),
		timestamp(c.TS),
		text("referrer", c.Referrer, MaxReferrer, false),
		text("ua", c.UA, MaxUA, false),
		amount(c.Amount),
		text("browser", c.Browser, MaxAgentName, false),
		text("system", c.System, MaxAgentName, false),
		text("device", c.Device, MaxAgentName, false),
	)
}

// Sightings implements Event: the IP on this link. Bots have none.
func (c *Click) Sightings() []Sighting {
	if c.Bot {
		return nil
	}
	return []Sighting{{Keyspace: URLShortener, Name: c.ShortURL, Visitor: c.IP}}
}

// Count implements Event. A bot's click adds to BotCounter only.
func (c *Click) Count(first []bool, add func(Key, Cell, int64)) {
	key := Key{Keyspace: URLShortener, Name: c.ShortURL}
	if c.Bot {
		add(key, Cell{Counter: BotCounter}, 1)
		return
	}
	add(key, Cell{Counter: ClickCounter}, 1)
	add(key, Cell{Counter: HourCounters, At: c.TS.Hour()}, 1)
	add(key, Cell{Counter: DayCounters, At: c.TS.Day()}, 1)
	add(key, Cell{Counter: CountryCounters, Label: cmp.Or(c.Country, UnknownCountry)}, 1)
	add(key, Cell{Counter: ReferrerCounters, Label: c.Referrer}, 1)
	if first[0] {
		add(key, Cell{Counter: UniqueCounter}, 1)
	}
	if c.Amount != nil { // 0 is an amount too
		add(key, Cell{Counter: NumValues, At: c.TS.Day()}, 1)
		add(key, Cell{Counter: SumValues, At: c.TS.Day()}, *c.Amount)
	}
	if kept := c.plan().months; len(kept) > 0 {
		month := c.TS.Month()
		for _, dimension := range kept {
			add(key, Cell{Counter: dimension, At: month, Label: c.label(dimension)}, 1)
		}
	}
}

// label is what a click counts under in a dimension by month.
func (c *Click) label(dimension string) string {
	switch dimension {
	case CountryMonths:
		return cmp.Or(c.Country, UnknownCountry)
	case ReferrerMonths:
		return c.Referrer
	case BrowserMonths:
		return c.Browser
	case SystemMonths:
		return c.System
	}
	return c.Device
}

func amount(n *int64) error {
	if n == nil || -MaxAmount <= *n && *n <= MaxAmount {
		return nil
	}
	return &Invalid{ReasonBadAmount, amountDetail}
}

const (
	amountWords  = "a whole number of the smallest unit, such as cents, of 10^12 at the most"
	amountDetail = "amount is " + amountWords
)

func country(code string) error {
	if code == "" {
		return nil
	}
	if len(code) == 2 && isUpper(code[0]) && isUpper(code[1]) {
		return nil
	}
	return &Invalid{"bad_country", "want two capital letters of ISO 3166, such as IT"}
}

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }
