package admission

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"footfall/configs"
	"footfall/internal/fair"
	"footfall/models"
	"footfall/producer/answer"
)

// Other is what a page's visit has instead of features that were new beyond the budget. Senders may use it: it counts with these.
const Other = "(other)"

// redirects is the name of what all short links share that are followed: following a link takes no key.
const redirects = "visitors"

// Limits are the rates of clients and sites, and how fast new names and new visitors may appear.
//
// A name is new if this process does not remember it: asking the store would take longer than counting the event. Links, their
// referrers and days, and sites count for their grant, or the holder of a key for all sites could go on for ever under new site names. A
// combination of features in a month counts for its site, a visitor for its site or link. All of them are rows that stay for ever.
// It is safe for concurrent use.
type Limits struct {
	seed maphash.Seed

	clients   *fair.Budget // by network
	pages     *fair.Budget // by network, of clients with a key that is part of a page
	sites     *fair.Budget
	follows   *fair.Budget // clicks of redirects, by network and link
	news      *fair.Budget // new names, by grant or site
	pageNews  *fair.Budget // new names by network, of clients with a key that is part of a page
	referrers *fair.Budget // new referrers, by link that is followed
	visitors  *fair.Shared // new visitors, by site or link

	names, details, guests *known // sites and links, what belongs to them, and visitors: apart, so that none evicts the others
}

// Sender is who is charged for an event.
type Sender struct {
	Grant string
	IP    netip.Addr
	Page  bool // its key is part of a page

	hash, apart uint64 // of Grant, and 1 for a page, whose site has a bucket apart from services'; Event fills them in
}

// NewLimits has what is configured; 0 is no limit.
func NewLimits(cfg configs.Limits) *Limits {
	const room = 1 << 20 // 8 MB each
	return &Limits{
		seed:      maphash.MakeSeed(),
		clients:   fair.NewBudget(cfg.ClientPerSecond, cfg.ClientBurst),
		pages:     fair.NewBudget(cfg.PageClientPerSecond, cfg.PageClientBurst),
		sites:     fair.NewBudget(cfg.SitePerSecond, cfg.SiteBurst),
		follows:   fair.NewBudget(cfg.RedirectClientPerSecond, cfg.RedirectClientBurst),
		news:      fair.NewBudget(fair.PerMinute(cfg.NewKeysPerMinute)),
		pageNews:  fair.NewBudget(fair.PerMinute(cfg.PageClientNewKeysPerMinute)),
		referrers: fair.NewBudget(fair.PerMinute(cfg.NewReferrersPerMinute)),
		visitors:  fair.NewShared(fair.PerMinute(cfg.NewVisitorsPerMinute)),
		names:     newKnown(room), details: newKnown(room), guests: newKnown(room),
	}
}

// Client charges a client for one event. Like all methods of Limits it returns an *answer.Refusal if that is one too many.
func (l *Limits) Client(ip netip.Addr, now time.Time) error {
	if l.clients == nil {
		return nil
	}
	return refusal(answer.RateLimited, "too many events from your address", l.clients.Take(now, l.networks(ip, "")...))
}

// PageClient is Client for requests with a key that lists origins, and so is part of a page.
func (l *Limits) PageClient(ip netip.Addr, now time.Time) error {
	return refusal(answer.RateLimited, "too many events from your address, for a key that is part of a page", l.pages.Take(now, l.networks(ip, "")...))
}

// Batch charges a client for n more events, once the body is read and they are counted. Client let the request in before, so
// the batch may take the balance below 0. A batch that was let in at the same time sees the negative balance and gets 429.
// page says that its key lists origins.
func (l *Limits) Batch(ip netip.Addr, n int, page bool, now time.Time) error {
	networks := l.networks(ip, "")
	wait := l.clients.Charge(now, n, 0, networks)
	if wait == 0 && page {
		wait = l.pages.Charge(now, n, 0, networks)
	}
	return refusal(answer.RateLimited, "too many events from your address", wait)
}

// networks are the buckets that an address is charged to, for something with a name.
func (l *Limits) networks(ip netip.Addr, name string) []fair.Charge {
	return fair.Charges(l.seed, ip, name)
}

// hash is that of a name of several parts. Without the seed nobody can aim at a collision.
func (l *Limits) hash(parts ...string) uint64 {
	var room [256]byte // enough for most, so that nothing is allocated
	text := room[:0]
	for _, part := range parts {
		text = append(append(text, part...), 0)
	}
	return maphash.Bytes(l.seed, text)
}

// Event charges the site of a visit, or for a click the grant that it was sent under, and checks whether a name or the visitor of the
// event is new. An event with a page's key is not refused for its features or its referrer, because nobody would send it again: it
// counts with Other, or without a referrer, and Event returns true.
func (l *Limits) Event(from Sender, event models.Event, now time.Time) (reduced bool, err error) {
	if from.hash = l.hash("grant", from.Grant); from.Page {
		from.apart = 1
	}
	switch e := event.(type) {
	case *models.Visit:
		site := l.hash("site", e.SiteID)
		if err := l.site(site, now); err != nil {
			return false, err
		}
		if reduced, err = l.visit(from, site, e, now); err == nil {
			err = l.visitor(from, site, e.GUID, e.TS, now)
		}
	case *models.Click:
		if err := l.site(from.hash, now); err != nil {
			return false, err
		}
		link := l.hash("link", e.ShortURL)
		if reduced, err = l.click(from, link, e, now); err == nil {
			err = l.visitor(from, link, e.IP, models.Absent, now)
		}
	}
	return reduced, err
}

func (l *Limits) site(owner uint64, now time.Time) error {
	return refusal(answer.RateLimited, "too many events for this site", l.sites.Take(now, fair.Charge{Name: owner, Times: 1}))
}

func (l *Limits) visit(from Sender, site uint64, v *models.Visit, now time.Time) (reduced bool, err error) {
	if l.free(from) {
		return false, nil
	}
	if err := l.name(l.names, from, from.hash, site, now); err != nil {
		return false, err
	}
	month := strconv.FormatInt(int64(v.TS.Month()), 10)
	err = l.name(l.details, from, site, l.hash("features", v.SiteID, month, string(models.NewFeatures(v.Features...))), now)
	if err == nil || !from.Page {
		return false, err
	}
	v.Features = slices.Clone(v.Features)
	for i, value := range v.Features {
		if value != "" {
			v.Features[i] = Other
		}
	}
	return true, nil
}

func (l *Limits) click(from Sender, link uint64, c *models.Click, now time.Time) (reduced bool, err error) {
	if l.free(from) {
		return false, nil
	}
	if err := l.name(l.names, from, from.hash, link, now); err != nil {
		return false, err
	}
	if at := newDay(c.TS, now); at != "" {
		if err := l.name(l.details, from, from.hash, l.hash("day", c.ShortURL, at), now); err != nil {
			return false, err
		}
	}
	if c.Referrer == "" { // the row that every link has
		return false, nil
	}
	err = l.name(l.details, from, from.hash, l.hash("referrer", c.ShortURL, c.Referrer), now)
	if err == nil || !from.Page {
		return false, err
	}
	c.Referrer = ""
	return true, nil
}

// newDay is the day of a time that is more than a day from now, else empty: a sender that sets the time could cause rows for every hour
// since 1973. Closer days are not new, or all links and visitors would be at midnight.
func newDay(at models.Millis, now time.Time) string {
	const day = 24 * time.Hour
	if at == models.Absent || now.Sub(at.Time()).Abs() <= day {
		return ""
	}
	return strconv.FormatInt(int64(at.Day()), 10)
}

// free tells that new names cost the sender nothing. They are not remembered then: a page that sends one later pays for it.
func (l *Limits) free(from Sender) bool { return l.news == nil && !from.Page }

// own are the buckets that a sender pays from itself: those of its networks with a page's key, else none.
func (l *Limits) own(from Sender) []fair.Charge {
	if from.Page {
		return l.networks(from.IP, "")
	}
	return nil
}

// name checks a name, and charges the payer and the sender's address if it is new. The address goes first: one beyond its budget uses
// up no other.
func (l *Limits) name(in *known, from Sender, payer, name uint64, now time.Time) error {
	wait := in.admit(name&nameBits|from.hash&^nameBits, func() (wait time.Duration) {
		if wait = l.pageNews.Take(now, l.own(from)...); wait == 0 {
			wait = l.news.Take(now, fair.Charge{Name: payer + from.apart, Times: 1})
		}
		return wait
	})
	return refusal(answer.TooManyNewKeys, "too many links, their referrers or days, sites or features that were never seen before", wait)
}

// visitor checks the visitor of a site or a link. A visit at another time makes rows as a new visitor does. A page's client takes from its
// own budget first: others cannot have it refused for few visitors.
func (l *Limits) visitor(from Sender, owner uint64, visitor string, at models.Millis, now time.Time) error {
	if visitor == "" || l.visitors == nil { // a link is created; there is no limit
		return nil
	}
	hash := (owner ^ l.hash("visitor", visitor, newDay(at, now))) & nameBits
	wait := l.guests.admit(hash|from.hash&^nameBits, func() time.Duration { return l.visitors.Take(now, l.own(from), owner+from.apart) })
	return refusal(answer.TooManyNewVisitors, "too many visitors of this site or link that were never seen before", wait)
}

// Redirect checks the click of a redirect, for which anybody can make up visits and referrers without a key. A click beyond what one
// client does is a bot's. Each link has a limit of new referrers, far below that of a key, and all links together have the limit of
// one key; beyond it a click has no referrer. Redirect returns the reasons of what it changed.
func (l *Limits) Redirect(c *models.Click, ip netip.Addr, now time.Time) (changed []string) {
	if !c.Bot && l.follows.Take(now, l.networks(ip, c.ShortURL)...) > 0 {
		c.Bot = true
		changed = append(changed, answer.RateLimited)
	}
	if c.Referrer == "" {
		return changed
	}
	all := l.hash("grant", redirects)
	wait := l.details.admit(l.hash("referrer", c.ShortURL, c.Referrer)&nameBits|all&^nameBits, func() time.Duration {
		wait := l.referrers.Take(now, fair.Charge{Name: l.hash("link", c.ShortURL), Times: 1})
		if wait == 0 {
			wait = l.news.Take(now, fair.Charge{Name: all, Times: 1})
		}
		return wait
	})
	if wait > 0 {
		c.Referrer = ""
		changed = append(changed, answer.TooManyNewKeys)
	}
	return changed
}

func refusal(reason, detail string, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &answer.Refusal{Reason: reason, Detail: detail, After: wait}
}
