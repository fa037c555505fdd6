package admission

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/netip"
	"testing"
	"time"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/answer"
)

func TestNewVisitors(t *testing.T) {
	v := limitNewVisitors(3)
	now := time.Unix(1_000_000, 0)
	visit := func(site, guid string) string {
		return reason(v.noteOne(&models.Visit{SiteID: site, GUID: guid}, now))
	}
	click := func(link, ip string) string {
		return reason(v.noteOne(&models.Click{ShortURL: link, IP: ip}, now))
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
	err := v.noteOne(&models.Visit{SiteID: "s", GUID: "g4"}, now.Add(20*time.Second))
	if wait := answer.Of(err).RetryAfter(); wait != 40*time.Second {
		t.Errorf("told to wait %v", wait)
	}
	now = now.Add(time.Minute)
	if got := visit("s", "g4"); got != "" {
		t.Errorf("in the next minute: %q", got)
	}
	if err := limitNewVisitors(0).noteOne(&models.Visit{}, now); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func (v *newVisitors) noteOne(event models.Event, now time.Time) error {
	if refused := v.check("g", []models.Event{event}, now); refused != nil {
		return refused[0]
	}
	return nil
}

// TestNewVisitorsOfABatch: the events of a batch are judged as if they came one by one.
func TestNewVisitorsOfABatch(t *testing.T) {
	const most = lookahead + 5
	v, now := limitNewVisitors(most), time.Unix(1_000_000, 0)
	batch := make([]models.Event, 3*lookahead)
	for i := range batch {
		batch[i] = &models.Visit{SiteID: "s", GUID: fmt.Sprint(i)}
	}
	for range 2 {
		for i, err := range v.check("g", batch, now) {
			want := ""
			if i >= most {
				want = answer.TooManyNewVisitors
			}
			if got := reason(err); got != want {
				t.Errorf("event %d: %q, want %q", i, got, want)
			}
		}
	}
	if refused := v.check("g", batch[:most], now); refused != nil {
		t.Errorf("known visitors: %v", refused)
	}
}

// TestSeen: hashes seen lately are known, if there are not many more of them than fit.
func TestSeen(t *testing.T) {
	const room = 1 << 12
	s := newVisitorSet(room)
	hash := func(i int) uint64 { return uint64(i+1) * 0x9E3779B97F4A7C15 & visitorBits } // of one grant
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

// TestNobodyPushesOutAnother: a key that makes up visitors of ever more sites evicts its own visitors, not those of another key, even if
// two keys do so.
func TestNobodyPushesOutAnother(t *testing.T) {
	v, now := limitNewVisitors(math.MaxInt), time.Unix(1_000_000, 0)
	v.known = newVisitorSet(1 << 12)
	visit := func(grant, site, guid string) (fresh int) {
		before := v.fresh(site)
		v.check(grant, []models.Event{&models.Visit{SiteID: site, GUID: guid}}, now)
		return v.fresh(site) - before
	}
	tag := func(grant string) uint64 { return maphash.String(v.names, grant) &^ visitorBits }
	bad := func(i int) string { // one in 256 has the tag of the good one, by chance, and shares its part
		for name := fmt.Sprint("bad", i%2); ; name += "!" {
			if tag(name) != tag("good") {
				return name
			}
		}
	}
	const known = 1 << 8 // a sixteenth of the room: few have more than their part of a place
	for i := range known {
		visit("good", "shop", fmt.Sprint(i))
	}
	for i := range 10 << 12 {
		visit(bad(i), fmt.Sprint("site", i%100), fmt.Sprint(i))
	}
	again := 0
	for i := range known {
		again += visit("good", "shop", fmt.Sprint(i))
	}
	if again > known/8 { // some 3 % as a rule and 7 % at times, since hashes differ in each run; without parts it would be all
		t.Errorf("%d of %d known visitors are new again", again, known)
	}
	if visit("other", "shop", fmt.Sprint(known-1)) != 0 { // who was seen last
		t.Error("one who is known by a key is new to the site under another")
	}
}

// fresh is how many new visitors a site had.
func (v *newVisitors) fresh(site string) int {
	whose, _ := v.hashes(&models.Visit{SiteID: site})
	if m, ok := v.minutes.Get(whose); ok {
		return m.count
	}
	return 0
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
