package admission

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/answer"
)

func TestNewVisitors(t *testing.T) {
	l := NewLimits(configs.Limits{NewVisitorsPerMinute: 3})
	now := time.Unix(1_000_000, 0)
	visit := func(site, guid string) string {
		return l.event("g", &models.Visit{SiteID: site, GUID: guid, TS: models.Millis(now.UnixMilli())}, now)
	}
	click := func(link, ip string) string {
		return l.event("g", &models.Click{ShortURL: link, IP: ip, TS: models.Millis(now.UnixMilli())}, now)
	}
	for range 2 {
		for i := range 5 {
			want := ""
			if i >= 3 {
				want = answer.TooManyNewVisitors
			}
			if got := visit("s", fmt.Sprint("g", i)); got != want {
				t.Errorf("visitor %d of a site: %q, want %q", i, got, want)
			}
			if got := click("s", fmt.Sprint("203.0.113.", i)); got != want { // a link may be called like a site
				t.Errorf("visitor %d of a link: %q, want %q", i, got, want)
			}
		}
	}
	if visit("other", "g4") != "" || click("other", "203.0.113.4") != "" {
		t.Error("another site, or another link, is limited")
	}
	_, err := l.Event(Sender{Grant: "g"}, &models.Visit{SiteID: "s", GUID: "g4", TS: models.Absent}, now.Add(5*time.Second))
	if wait := answer.Of(err).RetryAfter(); wait != 15*time.Second {
		t.Errorf("told to wait %v", wait)
	}
	now = now.Add(time.Minute)
	if got := visit("s", "g4"); got != "" {
		t.Errorf("in the next minute: %q", got)
	}
	// A visit of another day, more than one from now, costs as a new visitor does.
	late := func(days int) string {
		at := now.Add(-time.Duration(days) * 24 * time.Hour)
		return l.event("g", &models.Visit{SiteID: "old", GUID: "g", TS: models.Millis(at.UnixMilli())}, now)
	}
	for days, want := range []string{"", "", "", "", answer.TooManyNewVisitors, answer.TooManyNewVisitors} { // now and yesterday are one
		if got := late(days); got != want {
			t.Errorf("%d days late: %q, want %q", days, got, want)
		}
	}
	if got := NewLimits(configs.Limits{}).event("g", &models.Visit{GUID: "g"}, now); got != "" {
		t.Errorf("without a limit: %s", got)
	}
}

// TestSeen: hashes seen lately are known, if there are not many more of them than fit.
func TestSeen(t *testing.T) {
	const room = 1 << 12
	s := newKnown(room)
	hash := func(i int) uint64 { return uint64(i+1) * 0x9E3779B97F4A7C15 & nameBits } // of one grant
	for i := range room / 2 {
		s.add(hash(i))
	}
	known := 0
	for i := range room / 2 {
		if s.has(hash(i)) {
			known++
		}
	}
	if known < room/2*95/100 {
		t.Errorf("%d of %d are known with twice the room", known, room/2)
	}
	for i := room / 2; i < 10*room; i++ {
		if s.has(hash(i)) {
			t.Fatalf("%d was never seen", i)
		}
		s.add(hash(i))
		if !s.has(hash(0)) {
			t.Fatal("one that is asked about all the time is forgotten")
		}
	}
	if !s.has(hash(10*room-1)) || s.has(hash(1)) {
		t.Error("the last is forgotten, or the first is not")
	}
}

// noted sends visits by a clock that the test moves, with an eighth of the memory and of the limit for an eighth of the events.
type noted struct {
	*Limits
	now time.Time
}

func (n *noted) visit(grant, site, feature string) string {
	return n.event(grant, &models.Visit{SiteID: site, TS: models.Millis(n.now.UnixMilli()), Features: []string{feature, ""}}, n.now)
}

func scaled(began time.Time) *noted {
	l := newNames(10_000 / 8)
	l.names, l.details = newKnown(1<<17), newKnown(1<<17)
	return &noted{l, began}
}

// TestManySitesOfOneKey: 5,000 sites with 50 combinations of features each share a key, or have none, and send 500 events a second for
// an hour and a half (here an eighth of each). No event is refused. Nor is one with four times as many sites, whose combinations do not
// fit into the memory.
func TestManySitesOfOneKey(t *testing.T) {
	for _, sites := range []int{5_000 / 8, 20_000 / 8} {
		n := scaled(time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)) // the month ends within
		r := rand.New(rand.NewPCG(1, 2))
		for second := range 90 * 60 {
			n.now = n.now.Add(time.Second)
			for range 500 / 8 {
				if got := n.visit("anyone", fmt.Sprint("site", r.IntN(sites)), fmt.Sprint("feature", r.IntN(50))); got != "" {
					t.Fatalf("%d sites: refused in second %d: %s", sites, second, got)
				}
			}
		}
	}
}

// TestNobodyPushesOutAnother: a grant that makes up names of sites or features evicts its own, and few that another knows.
func TestNobodyPushesOutAnother(t *testing.T) {
	const quiet, many = 5_000 / 8, 10_000 / 8
	for name, made := range map[string]func(minute, i int) (site, feature string){
		"sites":    func(minute, i int) (string, string) { return fmt.Sprint("s", minute, "-", i), "" },
		"features": func(minute, i int) (string, string) { return "loud", fmt.Sprint(minute, "-", i) },
	} {
		n := scaled(time.Unix(1_000_000, 0))
		loud := func(i int) string { // one in 256 has the tag of the quiet one, by chance, and shares its part
			for name := fmt.Sprint("loud", i%2); ; name += "!" {
				if (n.hash("grant", name)^n.hash("grant", "quiet"))&^nameBits != 0 {
					return name
				}
			}
		}
		for i := range quiet {
			if got := n.visit("quiet", "quiet", fmt.Sprint(i)); got != "" {
				t.Fatal(got)
			}
		}
		for minute := range 120 {
			n.now = n.now.Add(time.Minute)
			for i := range 2 * many {
				site, feature := made(minute, i)
				_ = n.visit(loud(i), site, feature)
			}
		}
		again, month := 0, fmt.Sprint(int64(models.Millis(n.now.UnixMilli()).Month()))
		for i := range quiet {
			feature := n.hash("features", "quiet", month, string(models.NewFeatures(fmt.Sprint(i), "")))
			n.details.admit(feature&nameBits|n.hash("grant", "quiet")&^nameBits, func() time.Duration { again++; return 1 })
		}
		if again > quiet/8 {
			t.Errorf("%s: %v of %d known features are new again", name, again, quiet)
		}
	}
}

// TestNetworksOfAClient: a rented server often comes with a /56 or a /48, of which each /64 would be another client.
func TestNetworksOfAClient(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	f := func(what string, networks, most int, address func(i int) string) {
		t.Helper()
		l := NewLimits(configs.Limits{ClientPerSecond: 1, ClientBurst: 5})
		taken := 0
		for i := range networks {
			for range 10 {
				if l.Client(netip.MustParseAddr(address(i)), now) == nil {
					taken++
				}
			}
		}
		if taken != most {
			t.Errorf("%s: %d events at once, want %d", what, taken, most)
		}
		if l.Client(netip.MustParseAddr("2001:db8:ffff::1"), now) != nil || l.Client(netip.MustParseAddr("203.0.114.1"), now) != nil {
			t.Errorf("%s: somebody else is limited", what)
		}
		if got := reason(l.Batch(netip.MustParseAddr(address(0)), 1, false, now)); got != "" {
			t.Errorf("%s: who was let in is refused: %s", what, got)
		}
	}
	f("one /64", 256, 5, func(i int) string { return fmt.Sprintf("2001:db8:0:1::%x", i) })
	f("one /56", 256, 4*5, func(i int) string { return fmt.Sprintf("2001:db8:0:1%02x::1", i) })
	f("one /48", 4096, 16*5, func(i int) string { return fmt.Sprintf("2001:db8:0:%x::1", i*16) })
	f("one /24", 256, 64*5, func(i int) string { return fmt.Sprintf("203.0.113.%d", i) })
	// A request that the wider network's limit refuses is not charged to the narrow one.
	l := NewLimits(configs.Limits{ClientPerSecond: 1, ClientBurst: 1})
	for i := range 100 {
		_ = l.Client(netip.MustParseAddr(fmt.Sprintf("2001:db8:0:1%02x::1", i)), now)
	}
	if err := l.Client(netip.MustParseAddr("2001:db8:0:1ff::1"), now.Add(time.Second)); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

// TestPagesCountAsOther: beyond the budgets of its address, its network or its site a visit with a page's key counts with (other), and a
// click without its referrer. Another address has a budget of its own, and a service gets 429.
func TestPagesCountAsOther(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := NewLimits(configs.Limits{NewKeysPerMinute: 1000, PageClientNewKeysPerMinute: 3})
	visit := func(ip, f1, f2 string) (string, string) {
		v := &models.Visit{SiteID: "s", GUID: "g", TS: models.Millis(now.UnixMilli()), Features: []string{f1, f2}}
		reduced, err := l.Event(Sender{Grant: "g", IP: netip.MustParseAddr(ip), Page: true}, v, now)
		if reduced != slices.Contains(v.Features, Other) {
			t.Errorf("%q, and reduced %v", v.Features, reduced)
		}
		return v.Features[0] + "|" + v.Features[1], reason(err)
	}
	f := func(ip, f1, f2, want string) {
		t.Helper()
		if got, why := visit(ip, f1, f2); got != want || why != "" {
			t.Errorf("%s %s %s: %s %s, want %s", ip, f1, f2, got, why, want)
		}
	}
	f("203.0.113.7", "a", "x", "a|x") // the site is new, too
	f("203.0.113.7", "b", "", "b|")
	f("203.0.113.7", "c", "", "(other)|")
	f("203.0.113.7", "c", "x", "(other)|(other)")
	f("203.0.113.7", "a", "x", "a|x")
	f("203.0.113.8", "c", "x", "c|x")
	f("203.0.113.7", "c", "x", "c|x") // known by now
	taken := 0
	for i := range 256 {
		for n := range 3 {
			if got, _ := visit(fmt.Sprintf("198.51.100.%d", i), fmt.Sprint(i, n), ""); got != "(other)|" {
				taken++
			}
		}
	}
	if taken != 64*3 {
		t.Errorf("a /24 made %d new values, want %d", taken, 64*3)
	}
	click := &models.Click{ShortURL: "l", Referrer: "r", TS: models.Millis(now.UnixMilli())}
	click2 := *click
	from := Sender{Grant: "g", IP: netip.MustParseAddr("203.0.113.8"), Page: true}
	if reduced, err := l.Event(from, click, now); reduced || err != nil || click.Referrer != "r" { // with c|x these are three
		t.Errorf("%v, %v: %+v", reduced, err, click)
	}
	click2.Referrer = "r2"
	if reduced, err := l.Event(from, &click2, now); !reduced || err != nil || click2.Referrer != "" {
		t.Errorf("%v, %v: %+v", reduced, err, click2)
	}
	click2.ShortURL = "l2"
	if reduced, err := l.Event(from, &click2, now); reduced || reason(err) != answer.TooManyNewKeys {
		t.Errorf("a new link: %v, %v", reduced, err)
	}
}

// TestRedirectsOfOneClient: of the clicks of one client on one link those beyond the limit are a bot's.
func TestRedirectsOfOneClient(t *testing.T) {
	l, now := NewLimits(configs.Limits{RedirectClientPerSecond: 1, RedirectClientBurst: 3}), time.Unix(1_000_000, 0)
	f := func(ip, link string, wants ...bool) {
		t.Helper()
		for i, bot := range wants {
			c := &models.Click{ShortURL: link}
			if changed := l.Redirect(c, netip.MustParseAddr(ip), now); c.Bot != bot || len(changed) > 0 != bot {
				t.Errorf("click %d of %s: %v %q, want %v", i, ip, c.Bot, changed, bot)
			}
		}
	}
	f("203.0.113.7", "a", false, false, false, true, true)
	f("203.0.113.7", "b", false)
	f("203.0.113.8", "a", false)
	now = now.Add(2 * time.Second)
	f("203.0.113.7", "a", false, false, true)
}
