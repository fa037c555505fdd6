package admission

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"testing"
	"time"

	"footfall/configs"
	"footfall/internal/fair"
	"footfall/models"
	"footfall/producer/answer"
)

// reason is the reason of a refusal, "" if there is none.
func reason(err error) string {
	var why *answer.Refusal
	if errors.As(err, &why) {
		return why.Reason
	}
	return ""
}

// one is the bucket of a name.
func one(name uint64) []fair.Charge { return []fair.Charge{{Name: name, Times: 1}} }

// newNames are limits of new names only.
func newNames(perMinute int) *Limits { return NewLimits(configs.Limits{NewKeysPerMinute: perMinute}) }

// event is the reason why an event of a grant is refused.
func (l *Limits) event(grant string, event models.Event, now time.Time) string {
	_, err := l.Event(Sender{Grant: grant}, event, now)
	return reason(err)
}

func TestBucketsHoldTheRate(t *testing.T) {
	b := fair.NewBudget(10, 5)
	now := time.Unix(1_000_000, 0)
	taken := 0
	for range 100 { // ten seconds, asked every 100 ms and much too often
		for range 20 {
			if b.Take(now, one(1)...) == 0 {
				taken++
			}
		}
		now = now.Add(100 * time.Millisecond)
	}
	if taken < 5+98 || taken > 5+100 {
		t.Errorf("%d in ten seconds at 10 a second, burst 5", taken)
	}
	if b.Take(now, one(2)...) != 0 {
		t.Error("another one is limited too")
	}
}

// TestALargeBatchIsPaidOff: a batch larger than the burst gets through once, and the rate holds afterwards.
func TestALargeBatchIsPaidOff(t *testing.T) {
	b := fair.NewBudget(10, 5)
	now := time.Unix(1_000_000, 0)
	if wait := b.Take(now, one(1)...); wait != 0 {
		t.Fatalf("the first has to wait %v", wait)
	}
	if wait := b.Charge(now, 104, 0, one(1)); wait != 0 {
		t.Fatalf("who was let in has to wait %v", wait)
	}
	wait := b.Take(now, one(1)...)
	if want := 10100 * time.Millisecond; wait != want {
		t.Errorf("after it: wait %v, want %v", wait, want)
	}
	if w := b.Take(now.Add(wait-time.Millisecond), one(1)...); w <= 0 {
		t.Error("before it is over it is over")
	}
	if w := b.Take(now.Add(wait+time.Millisecond), one(1)...); w != 0 {
		t.Errorf("who waited as told has to wait %v", w)
	}
}

// TestWhoWaitsAsToldGetsIn: whatever a batch costs, the next one is accepted after the time in Retry-After.
func TestWhoWaitsAsToldGetsIn(t *testing.T) {
	l := NewLimits(configs.Limits{ClientPerSecond: 1, ClientBurst: 5})
	now := time.Unix(1_000_000, 0)
	began, sent := now, 0
	ip := netip.MustParseAddr("203.0.113.7")
	for i := range 200 {
		if err := l.Client(ip, now); err != nil {
			header := http.Header{}
			answer.SetRetryAfter(header, answer.Of(err).RetryAfter())
			seconds, err := strconv.Atoi(header.Get("Retry-After"))
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Duration(seconds) * time.Second)
			if err := l.Client(ip, now); err != nil {
				t.Fatalf("batch %d waited %d s as told and is refused: %v", i, seconds, err)
			}
		}
		if err := l.Batch(ip, 9, false, now); err != nil {
			t.Fatalf("batch %d was let in and is refused: %v", i, err)
		}
		sent += 10
	}
	if most := 5 + 10 + int(now.Sub(began).Seconds()); sent > most {
		t.Errorf("%d events in %v at 1 a second", sent, now.Sub(began))
	}
}

// TestManyBatchesAtOnce: a hundred requests are admitted before any batch is read. One of them may be larger than the burst; the others
// get a Retry-After.
func TestManyBatchesAtOnce(t *testing.T) {
	l := NewLimits(configs.Limits{ClientPerSecond: 10, ClientBurst: 100})
	now := time.Unix(1_000_000, 0)
	ip := netip.MustParseAddr("203.0.113.7")
	for i := range 100 {
		if err := l.Client(ip, now); err != nil {
			t.Fatalf("request %d of the burst: %v", i, err)
		}
	}
	taken := 0
	for range 100 {
		err := l.Batch(ip, 999, false, now)
		if err == nil {
			taken++
			continue
		}
		if wait := answer.Of(err).RetryAfter(); reason(err) != answer.RateLimited || wait != 100*time.Second { // 1,000 tokens at 10 a second
			t.Fatalf("%v, wait %v", err, wait)
		}
	}
	if taken != 1 {
		t.Errorf("%d batches of 1,000 were taken at once", taken)
	}
	now = now.Add(100 * time.Second)
	if l.Client(ip, now) != nil || l.Batch(ip, 999, false, now) != nil {
		t.Error("who waited as told is refused")
	}
}

// TestClientsAreNetworks: the 2^64 addresses of an IPv6 network count as one client.
func TestClientsAreNetworks(t *testing.T) {
	l := NewLimits(configs.Limits{ClientPerSecond: 1, ClientBurst: 1})
	now := time.Unix(1_000_000, 0)
	f := func(ip, want string) {
		t.Helper()
		if got := reason(l.Client(netip.MustParseAddr(ip), now)); got != want {
			t.Errorf("%s: %q, want %q", ip, got, want)
		}
	}
	f("203.0.113.7", "")
	f("203.0.113.7", answer.RateLimited)
	f("203.0.113.8", "")
	f("2001:db8:0:1::1", "")
	f("2001:db8:0:1:ffff::2", answer.RateLimited)
	f("2001:db8:0:2::1", "")
	if reason(l.Client(netip.Addr{}, now)) != "" || reason(l.Client(netip.Addr{}, now)) != answer.RateLimited {
		t.Error("clients without an address are not one client")
	}
}

func TestNewKeys(t *testing.T) {
	k := newNames(3)
	now := time.Unix(1_000_000, 0)
	click := func(owner, link string) string {
		return k.event(owner, &models.Click{ShortURL: link, TS: models.Millis(now.UnixMilli())}, now)
	}
	visit := func(site, f1, f2 string) string {
		return k.event("o", &models.Visit{SiteID: site, Features: []string{f1, f2}}, now)
	}
	for i := range 10 {
		want := ""
		if i >= 3 {
			want = answer.TooManyNewKeys
		}
		if got := click("o", fmt.Sprint("l", i)); got != want {
			t.Errorf("link %d: %q, want %q", i, got, want)
		}
		if got := click("o", "l0"); got != "" {
			t.Errorf("a known link: %q", got)
		}
	}
	if got := click("other", "l9"); got != "" {
		t.Errorf("another owner: %q", got)
	}
	if got := visit("s", "a", "b"); got != answer.TooManyNewKeys {
		t.Errorf("a new site of an owner who had enough: %q", got)
	}
	now = now.Add(time.Minute)
	if got := click("o", "l8"); got != "" {
		t.Errorf("a minute later: %q", got)
	}
	for i, want := range []string{"", "", "", answer.TooManyNewKeys, answer.TooManyNewKeys} {
		if got := visit("s", "a", fmt.Sprint(i)); got != want {
			t.Errorf("features %d: %q, want %q", i, got, want)
		}
	}
	if visit("s", "a", "0") != "" || visit("s2", "a", "") != "" {
		t.Error("known features, or another site, are limited")
	}
	if got := visit("s3", "", ""); got != answer.TooManyNewKeys { // l8, s and s2 were new in this minute
		t.Errorf("a third new site: %q", got)
	}
}

// The month is a part of a visit's key: one combination of features in many months is as many keys.
func TestMonthsAreNewKeys(t *testing.T) {
	k := newNames(3)
	now := time.Unix(1_000_000, 0)
	for i := range 6 {
		at := time.Date(2018, time.Month(1+i), 15, 0, 0, 0, 0, time.UTC)
		for range 2 {
			want := ""
			if i >= 3 {
				want = answer.TooManyNewKeys
			}
			v := &models.Visit{SiteID: "s", TS: models.Millis(at.UnixMilli()), Features: []string{"a", "b"}}
			if got := k.event("o", v, now); got != want {
				t.Errorf("month %d: %q, want %q", i, got, want)
			}
		}
	}
}

// TestDaysAreNewKeys: a sender that sets the time could give a link a row for every hour since 1973, so other days count as new keys.
// Today and yesterday do not.
func TestDaysAreNewKeys(t *testing.T) {
	k := newNames(10_000)
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	click := func(at time.Time) string {
		return k.event("o", &models.Click{ShortURL: "l", TS: models.Millis(at.UnixMilli())}, now)
	}
	taken := 0
	for i := range 400_000 {
		if click(now.Add(-time.Duration(i)*time.Hour)) == "" {
			taken++
		}
	}
	if most := (10_000 + 1) * 24; taken > most || taken < most-3*24 { // one of 10,000 is the link
		t.Errorf("%d hours of one link in one minute", taken)
	}
	if got := click(now.Add(-20 * time.Hour)); got != "" {
		t.Errorf("late by 20 hours, of one who had enough: %q", got)
	}
	busy := newNames(3)
	for range 40 * 24 {
		now = now.Add(time.Hour)
		for i := range 3 {
			if err := busy.event("o", &models.Click{ShortURL: fmt.Sprint(i), TS: models.Millis(now.UnixMilli())}, now); err != "" {
				t.Fatalf("a known link as time goes on: %v", err)
			}
		}
	}
}

// A made-up referrer makes a row of its link that stays for ever.
func TestReferrersAreNewKeys(t *testing.T) {
	k := newNames(3) // a link and two referrers
	now := time.Unix(1_000_000, 0)
	click := func(referrer string) string {
		return k.event("o", &models.Click{ShortURL: "l", Referrer: referrer, TS: models.Millis(now.UnixMilli())}, now)
	}
	for i := range 6 {
		want := ""
		if i >= 2 {
			want = answer.TooManyNewKeys
		}
		if got := click(fmt.Sprint("r", i)); got != want {
			t.Errorf("referrer %d: %q, want %q", i, got, want)
		}
		if click("") != "" || click("r0") != "" {
			t.Error("known referrers, or none, are limited")
		}
	}
}

// TestLimitsAreBounded: memory stays bounded, however many clients, sites and names there are.
func TestLimitsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	l := NewLimits(configs.Limits{
		ClientPerSecond: 1, ClientBurst: 1, PageClientPerSecond: 1, PageClientBurst: 1, SitePerSecond: 1, SiteBurst: 1,
		NewKeysPerMinute: 1 << 30, NewVisitorsPerMinute: 1 << 30, PageClientNewKeysPerMinute: 1 << 30,
		RedirectClientPerSecond: 1, RedirectClientBurst: 1, NewReferrersPerMinute: 1 << 30,
	})
	now := time.Unix(1_000_000, 0)
	used := func(from, to int) uint64 {
		for i := from; i < to; i++ {
			ip := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
			_, _ = l.Client(ip, now), l.PageClient(ip, now)
			_, _ = l.Event(Sender{Grant: "o", IP: ip, Page: true}, &models.Visit{SiteID: fmt.Sprint("s", i), GUID: "g", Features: []string{"a", "b"}}, now)
			_ = l.Redirect(&models.Click{ShortURL: fmt.Sprint("l", i), Referrer: "r"}, ip, now)
		}
		runtime.GC()
		runtime.GC() // what finalizers and pools held until the first one
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(l)
		return m.HeapAlloc // bytes that are reachable; how full the allocator's pages are is not ours
	}
	before := used(0, 0) // what other tests have left
	const many = fair.Remembered + fair.Remembered/8
	full := used(0, many)
	if more := used(many, many+many/8); more > full+1<<20 {
		t.Errorf("memory grew from %d to %d", full, more)
	}
	if before >= full {
		t.Fatalf("%d bytes in use before, %d after: nothing is shown", before, full)
	}
	if took := full - before; took > 110<<20 {
		t.Errorf("full limits take %d MB", took>>20)
	} else {
		t.Logf("full limits take %d MB", took>>20)
	}
}

// TestOthersDoNotUseUpThePagesVisitors: addresses with a page's key make up visitors of a site, each within its rate. A client that brings
// few new visitors is not refused for that, nor is a service. Who makes them up is, and has no more than its part and the common one.
func TestOthersDoNotUseUpThePagesVisitors(t *testing.T) {
	cfg, err := configs.LoadProducer("")
	if err != nil {
		t.Fatal(err)
	}
	l, now := NewLimits(cfg.Limits), time.Unix(1_000_000, 0)
	visit := func(ip, guid string, page bool) error {
		v := &models.Visit{SiteID: "shop", GUID: guid, TS: models.Millis(now.UnixMilli()), Features: []string{"a", "b"}}
		_, err := l.Event(Sender{Grant: fmt.Sprint("page ", page), IP: netip.MustParseAddr(ip), Page: page}, v, now)
		return err
	}
	made, sent := 0, 0
	for range 60 {
		now = now.Add(time.Second)
		for i := range 64 {
			ip := fmt.Sprintf("203.0.113.%d", i)
			for n := 0; n < 20 && l.PageClient(netip.MustParseAddr(ip), now) == nil; n++ {
				if sent++; visit(ip, fmt.Sprint(sent), true) == nil {
					made++
				}
			}
		}
	}
	const minute = 30_000
	if most := 2*minute + 2*64*minute/200; sent < 64*20*60 || made > most || made < most*9/10 {
		t.Errorf("%d of %d made-up visitors were taken in a minute, want %d", made, sent, most)
	}
	if err := visit("203.0.113.7", "one more", true); reason(err) != answer.TooManyNewVisitors {
		t.Errorf("who makes up visitors: %v", err)
	}
	for i := range minute / 200 { // of one address, which may be a carrier's
		if err := visit("198.51.100.7", fmt.Sprint("honest ", i), true); err != nil {
			t.Fatalf("honest visitor %d: %v", i, err)
		}
	}
	if err := visit("203.0.113.7", "a customer", false); err != nil {
		t.Errorf("a service: %v", err)
	}
}
