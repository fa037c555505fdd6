// Package mock makes up visits and clicks. It is pure: the same plan makes the same events everywhere.
package mock

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Plan says what to make up.
type Plan struct {
	Site     string
	Guids    int       // different visitors to choose from
	Visits   int       // to make
	From, To time.Time // when they happen: from From on, before To; whole seconds
	Features []Feature // a visit has one value of each, in this order
	Zipf     float64   // the k-th visitor, value and link has a weight of 1/k^Zipf; 0: all are alike
	Seed     uint64

	Clicks    int // to make, on Links, by Guids visitors
	Links     []string
	Countries []string
	Referers  []string // of clicks; some clicks have none
}

// Feature is one dimension of a visit, such as its referer, and the values it takes.
type Feature struct {
	Name   string
	Values []string
}

// Visit is one page view. Features are values in the plan's order.
type Visit struct {
	ID, GUID string
	At       time.Time
	Features []string
}

// Click is one click on a short link.
type Click struct {
	ID, Link, IP, Country, Referrer string
	At                              time.Time
	Bot                             bool
	Amount                          *int64 // its value; most have none
	Agent                           Agent
}

// AgentDimensions are what user agents tell, as the dimensions of monthcounters.
var AgentDimensions = [...]string{"browser", "system", "device"}

// Agent is a user agent, and what a person finds in it, in the order of AgentDimensions. The zero value: the click tells none.
type Agent struct {
	UserAgent string
	Names     [len(AgentDimensions)]string
}

// Agents are those of made-up clicks, the usual ones first.
var Agents = []Agent{
	{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36", [...]string{"Chrome", "Android", "phone"}},
	{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1", [...]string{"Safari", "iOS", "phone"}},
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36", [...]string{"Chrome", "Windows", "desktop"}},
	{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15", [...]string{"Safari", "macOS", "desktop"}},
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0", [...]string{"Edge", "Windows", "desktop"}},
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0", [...]string{"Firefox", "Windows", "desktop"}},
	{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", [...]string{"Firefox", "Linux", "desktop"}},
	{"Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1", [...]string{"Safari", "iOS", "tablet"}},
	{},
}

// ids makes the ids of events of one kind. An id depends on the whole plan and the event's number: the same plan sent again has the same
// ids and is counted once; any other plan has other ids.
func (p Plan) ids(kind string) func(place int) string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // text and numbers only
	}
	beginning := kind + " of " + string(text) + " number "
	return func(place int) string { return uuid(sha256.Sum256([]byte(beginning + strconv.Itoa(place)))) }
}

// uuid formats bytes as a random UUID (version 4).
func uuid(b [32]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// Names are the names of the features.
func (p Plan) Names() []string {
	names := make([]string, len(p.Features))
	for i, f := range p.Features {
		names[i] = f.Name
	}
	return names
}
