package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	"footfall/models"
)

// Moment is one event of live traffic. It is small: minutes of traffic are made before they are sent.
type Moment struct {
	Due     time.Duration // after the begin
	Name    uint32        // number of the site or link
	Visitor uint32
	Label   uint8 // number of the referrer of a visit, of the country of a click
	Page    uint8 // number of the page of a visit, of the referrer of a click
}

// Live is traffic as it comes from people, at a rate that may change. It is the same each time for the same calls. It is not safe for
// concurrent use.
type Live interface {
	// Adjust sets the rate in events per second. It returns what must have been counted before the traffic goes on, so that its first
	// second is like its tenth minute.
	Adjust(rate float64) []Moment
	// Next makes the events of the next while, in their order.
	Next(d time.Duration) []Moment
	// Body appends an event as a sender writes it: the producer adds time and id.
	Body(to []byte, m Moment) []byte
	// Event is an event as it is on the topic.
	Event(m Moment, id string, at time.Time) models.Event
}

const (
	liveSites     = 2000
	livePages     = 50
	liveReferrers = 8
	sittingViews  = 5
	viewGap       = 45 * time.Second // on average
	away          = 3 * time.Minute  // between two sittings, on average
)

// AboutLiveVisits describes LiveVisits.
const AboutLiveVisits = "2,000 sites (Zipf 1.1), 50 pages and 8 referrers each; sittings of five views, 45 s apart on average (exponential); half of the" +
	" visitors come back to the site, 3 minutes later on average"

// LiveVisits are sittings of many visitors at once. Its own clock stands still between two calls.
type LiveVisits struct {
	r            *rand.Rand
	sites, pages *rand.Zipf
	now          time.Duration
	arrivals     float64   // sittings that begin, per second
	open         []sitting // a heap by due
	parked       []sitting // of a higher rate before; due is what is left
	back         []visitor // who will come back
	visitors     uint32
}

type visitor struct {
	number uint32
	site   uint32
}

type sitting struct {
	visitor
	due      time.Duration // of the next view
	left     int           // views
	referrer uint8
}

// NewLiveVisits makes traffic from a seed. Call Adjust first.
func NewLiveVisits(seed uint64) *LiveVisits {
	r := rand.New(rand.NewPCG(seed, 3))
	return &LiveVisits{r: r, sites: rand.NewZipf(r, 1.1, 1, liveSites-1), pages: rand.NewZipf(r, 1.1, 1, livePages-1)}
}

// Adjust implements Live. By Little's law as many sittings are under way as begin while one lasts. Those that a higher rate adds are in
// their midst: their earlier views are returned. One in two is of a visitor who was there before, which one view has to show.
func (l *LiveVisits) Adjust(rate float64) (before []Moment) {
	l.arrivals = rate / sittingViews
	want := int(l.arrivals * (sittingViews - 1) * viewGap.Seconds())
	for len(l.open) > want {
		i := l.r.IntN(len(l.open))
		s := l.open[i]
		l.open[i] = l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		s.due -= l.now
		l.parked = append(l.parked, s)
	}
	for len(l.open) < want && len(l.parked) > 0 {
		s := l.parked[len(l.parked)-1]
		l.parked = l.parked[:len(l.parked)-1]
		s.due += l.now
		l.open = append(l.open, s)
	}
	for len(l.open) < want {
		s := l.sit(l.newcomer())
		if l.r.IntN(2) == 0 {
			earlier := l.sit(s.visitor)
			before = append(before, l.view(&earlier))
		}
		for range 1 + l.r.IntN(sittingViews-1) {
			before = append(before, l.view(&s))
		}
		l.open = append(l.open, s)
	}
	for i := len(l.open)/2 - 1; i >= 0; i-- {
		down(l.open, i)
	}
	for len(l.back) < int(l.arrivals/2*away.Seconds()) {
		s := l.sit(l.newcomer())
		before = append(before, l.view(&s))
		l.back = append(l.back, s.visitor)
	}
	return before
}

// Next implements Live.
func (l *LiveVisits) Next(d time.Duration) []Moment {
	begin, end := l.now, l.now+d
	moments := make([]Moment, 0, int(1.1*l.arrivals*sittingViews*d.Seconds()))
	arrival := l.now + l.after(1/l.arrivals)
	for {
		if l.now = arrival; len(l.open) > 0 {
			l.now = min(arrival, l.open[0].due)
		}
		if l.now >= end {
			l.now = end
			return moments
		}
		if l.now == arrival {
			arrival += l.after(1 / l.arrivals)
			l.open = append(l.open, l.sit(l.next()))
			up(l.open)
		}
		s := &l.open[0]
		m := l.view(s)
		m.Due = l.now - begin
		moments = append(moments, m)
		if s.left == 0 {
			if l.r.IntN(2) == 0 {
				l.back = append(l.back, s.visitor)
			}
			*s = l.open[len(l.open)-1]
			l.open = l.open[:len(l.open)-1]
		}
		down(l.open, 0)
	}
}

// sit has a visitor begin a sitting, now.
func (l *LiveVisits) sit(v visitor) sitting {
	return sitting{visitor: v, due: l.now, left: sittingViews, referrer: uint8(l.r.IntN(liveReferrers))}
}

// view has a sitting's next view happen.
func (l *LiveVisits) view(s *sitting) Moment {
	s.left--
	s.due = l.now + l.after(viewGap.Seconds())
	return Moment{Name: s.site, Visitor: s.number, Label: s.referrer, Page: uint8(l.pages.Uint64())}
}

func (l *LiveVisits) newcomer() visitor {
	l.visitors++
	return visitor{l.visitors, uint32(l.sites.Uint64())}
}

// next is who begins the next sitting.
func (l *LiveVisits) next() visitor {
	n := len(l.back)
	if n == 0 || l.r.IntN(2) == 0 {
		return l.newcomer()
	}
	i := l.r.IntN(n)
	v := l.back[i]
	l.back[i] = l.back[n-1]
	l.back = l.back[:n-1]
	return v
}

// after is a time that is exponential with a mean, in seconds.
func (l *LiveVisits) after(mean float64) time.Duration { return exponential(l.r, mean) }

func exponential(r *rand.Rand, mean float64) time.Duration {
	return time.Duration(r.ExpFloat64() * mean * float64(time.Second))
}

// up and down keep the heap, whose first sitting is the next one due: the last has been added, or one has got another time.
func up(h []sitting) {
	for i := len(h) - 1; i > 0 && h[i].due < h[(i-1)/2].due; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func down(h []sitting, i int) {
	for {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(h) && h[child].due < h[least].due {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// LiveSite is the name of a site.
func LiveSite(n uint32) string { return fmt.Sprintf("site%04d", n) }

// LiveFeatures are the referrer and the page of a visit.
func LiveFeatures(m Moment) (referrer, page string) {
	return referrers[1+m.Label], fmt.Sprintf("/page%02d", m.Page)
}

// LiveGUID is a visitor's.
func LiveGUID(n uint32) string { return fmt.Sprintf("%08x-5eed-7000-8000-%012x", n*0x9e3779b1, n) }

// Body implements Live.
func (l *LiveVisits) Body(to []byte, m Moment) []byte {
	referrer, page := LiveFeatures(m)
	return fmt.Appendf(to, `{"v":1,"siteId":"%s","guid":"%s","feature1":"%s","feature2":"%s"}`, LiveSite(m.Name), LiveGUID(m.Visitor), referrer, page)
}

// Event implements Live.
func (l *LiveVisits) Event(m Moment, id string, at time.Time) models.Event {
	referrer, page := LiveFeatures(m)
	return &models.Visit{
		V: models.Version, ID: id, SiteID: LiveSite(m.Name), GUID: LiveGUID(m.Visitor), TS: models.Millis(at.UnixMilli()),
		Features: []string{referrer, page},
	}
}
