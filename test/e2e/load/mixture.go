package load

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"footfall/models"
	"footfall/simulator/mock"
)

// The values of events. Some are easily confused: quotes and separators of every language they pass through, and texts that differ only
// in case, in how an accent is composed, or in a space at the end.
var (
	links = []string{
		"abc", "ABC", "a", "promo-2018", "été", "x|y", "o'hara", `quo"te`, "50%", "a b", "链接", "q?x=1&y=2", "zz;--", "–", "n=1",
	}
	sites = []string{"site1", "Site1", "shop.example", "münchen.example", "s|1", "блог"}

	referrers = []string{
		"facebook.com", "google.com", "news.example", "t.co", "пример.рф", "例え.jp", "o'reilly.example", "a|b", "Facebook.com",
		"bücher.example", "caf\u00e9.example", "cafe\u0301.example", "x=y", "🦶.example",
	}
	pages = []string{
		"/index.html", "/index2.html", "/index3.html", "/", "/größe", "/a b", "/a b ", "/?q=1&r=%20", "/x|y", `/"quoted"`,
		"/it's", "/路径", "/Index.html", "/;drop", "/\t", "/👣", "/ZZ", "facebook.com",
	}
	countries = []string{"IT", "DE", "US", "FR", "JP", "BR", "IN", "NG", "ZZ"}
	// User agents, and the names that a person finds in them.
	agents = append([]mock.Agent{unlisted("curl/8.5.0"), unlisted("Ünïcode/1.0")}, mock.Agents...)
)

func unlisted(agent string) mock.Agent {
	a := mock.Agent{UserAgent: agent}
	for i := range a.Names {
		a.Names[i] = "other"
	}
	return a
}

// The traffic covers two whole months. October 2018 ends on a Wednesday, so one week lies in both.
var (
	begin = time.Date(2018, 10, 1, 0, 0, 0, 0, time.UTC)
	end   = time.Date(2018, 12, 1, 0, 0, 0, 0, time.UTC)
	// The first ISO week of 2019 begins on the last day of 2018.
	newYear = time.Date(2018, 12, 30, 12, 0, 0, 0, time.UTC)
)

// Make makes n events. Visits have features of these names, by default feature1 and feature2. The same seed makes the same events.
func Make(seed uint64, n int, features ...string) []Event {
	if len(features) == 0 {
		features = []string{"feature1", "feature2"}
	}
	m := newMixture(seed, n)
	m.features = features
	events := make([]Event, n)
	for i := range events {
		now := begin.Add(time.Duration(float64(end.Sub(begin)) * float64(i) / float64(n)))
		if m.r.IntN(100) < 45 {
			events[i] = m.click(i, now)
		} else {
			events[i] = m.visit(i, now)
		}
	}
	return events
}

// mixture draws events. The popularity of links, sites, values and visitors follows Zipf.
type mixture struct {
	seed                              uint64
	r                                 *rand.Rand
	link, site, referrer, page, guids *rand.Zipf
	addresses                         *rand.Zipf
	features                          []string
}

func newMixture(seed uint64, n int) *mixture {
	r := rand.New(rand.NewPCG(seed, 0xf007fa11))
	zipf := func(s float64, values int) *rand.Zipf { return rand.NewZipf(r, s, 4, uint64(values-1)) }
	return &mixture{
		seed: seed, r: r,
		link: zipf(1.3, len(links)), site: zipf(1.5, len(sites)),
		referrer: zipf(1.2, len(referrers)), page: zipf(1.2, len(pages)),
		guids: zipf(1.05, 20+n/5), addresses: zipf(1.05, 20+n/8),
	}
}

func (m *mixture) click(i int, now time.Time) Event {
	c := &models.Click{
		ID: fmt.Sprintf("c-%x-%d", m.seed, i), ShortURL: links[m.link.Uint64()], IP: address(m.addresses.Uint64()),
		TS: m.moment(now), Bot: m.r.IntN(100) < 7,
	}
	agent := agents[m.r.IntN(len(agents))]
	if c.UA = agent.UserAgent; !c.Bot {
		tells(c, agent)
	}
	if m.r.IntN(100) >= 10 {
		c.Country = countries[m.r.IntN(len(countries))]
	}
	if m.r.IntN(100) >= 30 {
		c.Referrer = referrers[m.referrer.Uint64()]
	}
	if m.r.IntN(3) == 0 {
		c.Amount = m.amount()
	}
	e := Event{Click: c}
	if m.r.IntN(20) == 0 { // the same visitor in another notation
		e.IP, e.Country = otherNotation(c.IP), strings.ToLower(c.Country)
	}
	return e
}

func (m *mixture) visit(i int, now time.Time) Event {
	v := &models.Visit{
		ID: fmt.Sprintf("v-%x-%d", m.seed, i), SiteID: sites[m.site.Uint64()],
		GUID: fmt.Sprintf("%08x-6c08-4160-9196-f0050faffe62", uint32(m.guids.Uint64()*2654435761)),
		TS:   m.moment(now), Features: make([]string, len(m.features)),
	}
	for i := range v.Features {
		switch missing := m.r.IntN(100); {
		case i%2 == 0 && missing >= 12:
			v.Features[i] = referrers[m.referrer.Uint64()]
		case i%2 == 1 && missing >= 8:
			v.Features[i] = pages[m.page.Uint64()]
		}
	}
	form := m.r.IntN(4) == 0
	if form {
		v.TS -= v.TS % 1000
	}
	return Event{Visit: v, Form: form, InURL: form && m.r.IntN(3) == 0, Names: m.features}
}

func tells(c *models.Click, agent mock.Agent) {
	for i, name := range c.Names() {
		*name = agent.Names[i]
	}
}

// Tells fills in what a user agent, one of mock.Agents, tells of a click.
func Tells(c *models.Click, userAgent string) {
	tells(c, mock.Agents[slices.IndexFunc(mock.Agents, func(a mock.Agent) bool { return a.UserAgent == userAgent })])
}

// amount is the value of a click: mostly a price, sometimes zero, negative, or the largest possible.
func (m *mixture) amount() *int64 {
	n := m.r.Int64N(20_000)
	switch m.r.IntN(20) {
	case 0, 1:
		n = 0
	case 2, 3, 4:
		n = -n
	case 5:
		n = models.MaxAmount
	case 6:
		n = -models.MaxAmount
	}
	return &n
}

// moment is the time of an event that is sent at now: mostly now, sometimes long before, sometimes at the edge of an hour, and so
// sometimes of a day, a week or a month.
func (m *mixture) moment(now time.Time) models.Millis {
	switch p := m.r.IntN(1000); {
	case p < 60: // late
		now = begin.Add(time.Duration(m.r.Int64N(int64(now.Sub(begin)) + 1)))
	case p < 65:
		now = newYear.Add(time.Duration(m.r.Int64N(int64(48 * time.Hour))))
	case p < 70: // the week in two months
		now = time.Date(2018, 10, 29, 0, 0, 0, 0, time.UTC).Add(time.Duration(m.r.Int64N(int64(7 * 24 * time.Hour))))
	}
	switch m.r.IntN(40) {
	case 0:
		now = now.Truncate(time.Hour)
	case 1:
		now = now.Truncate(time.Hour).Add(-time.Millisecond)
	case 2:
		now = now.Truncate(24 * time.Hour)
	}
	return models.Millis(now.UnixMilli())
}

// address is the n-th visitor's IP. Every third is IPv6, where a visitor is a /64.
func address(n uint64) string {
	if n%3 == 2 {
		return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 4: byte(n >> 24), 5: byte(n >> 16), 6: byte(n >> 8), 7: byte(n)}).String()
	}
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

// otherNotation is another spelling of a visitor: its IPv4 address mapped into IPv6, or another address of its /64, in full and in
// capitals.
func otherNotation(ip string) string {
	a := netip.MustParseAddr(ip)
	if a.Is4() {
		return "::ffff:" + ip
	}
	b := a.As16()
	b[8], b[15] = 0xab, b[7]
	return strings.ToUpper(netip.AddrFrom16(b).StringExpanded())
}
