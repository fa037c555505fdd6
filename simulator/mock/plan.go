// Package mock makes up visits and clicks. It is pure: the same plan gives the same events, wherever and whenever it runs.
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
	Features []Feature // what each visit has one value of, in order
	Zipf     float64   // how unequal visitors, values and links are: the k-th is as popular as 1/k^Zipf. 0: all the same
	Seed     uint64

	Clicks    int // to make, on Links, by as many visitors
	Links     []string
	Countries []string
	Referers  []string // of clicks; some have none whatever is here
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
	Amount                          *int64 // what it was worth; most are worth nothing that anyone counts
}

// ids names the events of one kind. The name of an event depends on the whole plan and its place in it: the same plan sent
// again has the same ids and counts once, another plan has others, whatever the two have in common.
func (p Plan) ids(kind string) func(place int) string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // text and numbers only
	}
	beginning := kind + " of " + string(text) + " number "
	return func(place int) string { return uuid(sha256.Sum256([]byte(beginning + strconv.Itoa(place)))) }
}

// uuid spells bytes as a random UUID (version 4).
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
