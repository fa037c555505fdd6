package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	"footfall/models"
)

const (
	liveLinks  = 20_000
	newLink    = 200    // one click in so many is the first on a new link
	liveBefore = 60_000 // clicks that have been
	liveUA     = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
)

// AboutLiveClicks describes LiveClicks.
const AboutLiveClicks = "20,000 links (Zipf 1.1), of which one is replaced by a new one with every 200th click; 30 countries, 11 referrers; a third of the" +
	" clicks a visitor's first on the link"

// LiveClicks are clicks on links of which some are new.
type LiveClicks struct {
	r        *rand.Rand
	ranks    *rand.Zipf
	links    []link // by rank
	rate     float64
	names    uint32 // given out
	visitors uint32
	clicks   int
	firsts   int
}

type link struct {
	name     uint32
	visitors []uint32
}

// NewLiveClicks makes traffic from a seed. Call Adjust first.
func NewLiveClicks(seed uint64) *LiveClicks {
	r := rand.New(rand.NewPCG(seed, 4))
	l := &LiveClicks{r: r, ranks: rand.NewZipf(r, 1.1, 1, liveLinks-1), links: make([]link, liveLinks), names: liveLinks}
	for i := range l.links {
		l.links[i].name = uint32(i)
	}
	return l
}

// Adjust implements Live.
func (l *LiveClicks) Adjust(rate float64) (before []Moment) {
	l.rate = rate
	for l.clicks < liveBefore {
		before = append(before, l.click())
	}
	return before
}

// Next implements Live.
func (l *LiveClicks) Next(d time.Duration) []Moment {
	moments := make([]Moment, 0, int(1.1*l.rate*d.Seconds()))
	for due := exponential(l.r, 1/l.rate); due < d; due += exponential(l.r, 1/l.rate) {
		m := l.click()
		m.Due = due
		moments = append(moments, m)
	}
	return moments
}

func (l *LiveClicks) click() Moment {
	on := &l.links[l.ranks.Uint64()]
	if l.r.IntN(newLink) == 0 {
		on = &l.links[l.r.IntN(liveLinks)]
		*on = link{name: l.names}
		l.names++
	}
	var who uint32
	if len(on.visitors) == 0 || float64(l.firsts) < float64(l.clicks)/3 {
		l.visitors++
		l.firsts++
		who = l.visitors
		on.visitors = append(on.visitors, who)
	} else {
		who = on.visitors[l.r.IntN(len(on.visitors))]
	}
	l.clicks++
	return Moment{
		Name: on.name, Visitor: who, Label: uint8(min(l.r.IntN(30), l.r.IntN(30))),
		Page: uint8(min(l.r.IntN(len(referrers)), l.r.IntN(len(referrers)))),
	}
}

// LiveLink is the name of a link.
func LiveLink(n uint32) string { return fmt.Sprintf("l%07d", n) }

// Body implements Live.
func (l *LiveClicks) Body(to []byte, m Moment) []byte {
	return fmt.Appendf(to, `{"v":1,"short_url":"%s","ip":"%s","country":"%s","referrer":"%s","ua":"`+liveUA+`"}`,
		LiveLink(m.Name), address(m.Visitor), countries[m.Label], referrers[m.Page])
}

// Event implements Live.
func (l *LiveClicks) Event(m Moment, id string, at time.Time) models.Event {
	return &models.Click{
		V: models.Version, ID: id, ShortURL: LiveLink(m.Name), IP: address(m.Visitor), Country: countries[m.Label],
		TS: models.Millis(at.UnixMilli()), Referrer: referrers[m.Page], UA: liveUA,
	}
}
