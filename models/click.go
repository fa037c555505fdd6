package models

import (
	"cmp"
	"strconv"
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
	Agent
	Plan *Plan `json:"-"` // what is kept of it; DefaultPlan if nil
}

// Agent is what a visitor's user agent tells: names of which there are few. Empty: it tells none, the click is a bot's, or it was written
// before producers knew them. What depends on all of them alike goes over Names: checks, codecs, packing.
type Agent struct {
	Browser string `json:"browser,omitempty"` // one of Browsers
	System  string `json:"system,omitempty"`  // one of Systems
	Device  string `json:"device,omitempty"`  // one of Devices
}

// Names are its fields, in the order of AgentFields.
func (a *Agent) Names() [3]*string { return [...]*string{&a.Browser, &a.System, &a.Device} }

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
	err := firstError(
		version(c.V),
		text("id", c.ID, MaxID, true),
		text("short_url", c.ShortURL, MaxShortURL, true),
		text("ip", c.IP, MaxIP, true),
		country(c.Country),
		timestamp(c.TS),
		text("referrer", c.Referrer, MaxReferrer, false),
		text("ua", c.UA, MaxUA, false),
		amount(c.Amount),
	)
	for i, name := range c.Names() {
		err = firstError(err, text(AgentFields[i].Name, *name, MaxAgentName, false))
	}
	return err
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

func (c *Click) appendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"v":`...), int64(c.V), 10)
	dst = AppendText(append(dst, `,"id":`...), c.ID)
	dst = AppendText(append(dst, `,"short_url":`...), c.ShortURL)
	dst = AppendText(append(dst, `,"ip":`...), c.IP)
	if c.Country != "" {
		dst = AppendText(append(dst, `,"country":`...), c.Country)
	}
	dst = strconv.AppendInt(append(dst, `,"ts":`...), int64(c.TS), 10)
	if c.Referrer != "" {
		dst = AppendText(append(dst, `,"referrer":`...), c.Referrer)
	}
	if c.UA != "" {
		dst = AppendText(append(dst, `,"ua":`...), c.UA)
	}
	if c.Bot {
		dst = append(dst, `,"bot":true`...)
	}
	if c.Amount != nil {
		dst = strconv.AppendInt(append(dst, `,"amount":`...), *c.Amount, 10)
	}
	for i, name := range c.Names() {
		if *name != "" {
			dst = append(append(append(dst, `,"`...), AgentFields[i].Name...), `":`...)
			dst = AppendText(dst, *name)
		}
	}
	return append(dst, '}')
}

// fastClick parses a click. saysBot tells whether it has the field bot.
func fastClick(data []byte) (c *Click, saysBot, ok bool) {
	c = &Click{TS: Absent}
	var t fieldSetter
	var v int64
	ts := int64(Absent)
	ok = fastObject(data, func(name []byte, value literal) bool {
		switch string(name) {
		case "v":
			return t.number(0, &v, value) && int64(int(v)) == v
		case "id":
			return t.text(1, &c.ID, value)
		case "short_url":
			return t.text(2, &c.ShortURL, value)
		case "ip":
			return t.text(3, &c.IP, value)
		case "country":
			return t.text(4, &c.Country, value)
		case "ts":
			return t.number(5, &ts, value)
		case "referrer":
			return t.text(6, &c.Referrer, value)
		case "ua":
			return t.text(7, &c.UA, value)
		case "bot":
			c.Bot, saysBot = value.number == 1, true
			return value.kind == 'b' && t.once(8)
		case "amount":
			c.Amount = new(int64) // most clicks have none
			return t.number(9, c.Amount, value)
		}
		for i, to := range c.Names() {
			if AgentFields[i].Name == string(name) {
				return t.text(10+i, to, value)
			}
		}
		return false
	})
	c.V, c.TS = int(v), Millis(ts)
	return c, saysBot, ok
}
