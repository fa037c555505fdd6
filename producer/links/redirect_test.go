package links

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/models"
)

func TestRedirectCountsAClick(t *testing.T) {
	f := newFixture(t, nil)
	f.store.links["abc"] = "https://a.example/ü?q=1#x"
	before := models.Millis(time.Now().UnixMilli())
	w := f.follow(http.MethodGet, "/abc?utm=1", "Referer", "https://News.example/secret")
	if w.Code != http.StatusFound || w.Header().Get("Location") != "https://a.example/%C3%BC?q=1#x" || w.Header().Get("Cache-Control") != "private, no-store" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = f.follow(http.MethodHead, "/abc")
	if w.Code != http.StatusFound || w.Header().Get("Location") == "" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	f.follow(http.MethodGet, "/abc", "Purpose", "prefetch")
	f.follow(http.MethodGet, "/abc", "User-Agent", strings.Repeat("ü", 2000)+"\xff")
	f.follow(http.MethodGet, "/abc", "X-Forwarded-For", "198.51.100.9", "CF-IPCountry", "IT")
	f.close(t, time.Minute)
	if len(f.kafka.clicks) != 4 {
		t.Fatalf("%d clicks: %+v", len(f.kafka.clicks), f.kafka.clicks)
	}
	bots := 0
	for _, c := range f.kafka.clicks {
		if err := c.Validate(); err != nil || c.ShortURL != "abc" || c.IP != "203.0.113.7" || c.Country != "ZZ" || c.TS < before {
			t.Errorf("%+v: %v", c, err)
		}
		if c.Bot {
			bots++
		}
		if (c.Browser+c.System+c.Device == "") != c.Bot {
			t.Errorf("a person's click has names, a bot's has none: %+v", c)
		}
	}
	if bots != 2 { // the prefetch and the odd agent
		t.Errorf("%d bots", bots)
	}
	if f.dropped("queue_full")+f.dropped("invalid")+f.dropped("closing") != 0 {
		t.Error("clicks were dropped")
	}
}

func TestRedirectLeadsNowhereElse(t *testing.T) {
	f := newFixture(t, nil)
	for short, long := range map[string]string{
		"js": "javascript:alert(1)", "empty": "", "path": "/x", "bad name": "https://a.example/", "a.b": "https://a.example/", "track": "https://a.example/",
	} {
		f.store.links[short] = long // as somebody may insert with cqlsh
	}
	for _, path := range []string{
		"/", "/none", "/js", "/empty", "/path", "/bad%20name", "/a.b", "/a%2eb", "/track", "/abc/", "/abc/def", "/%61bc", "/..%2fabc", "/" + strings.Repeat("a", 65),
		"//evil.example", "/%2f%2fevil.example", "/%5cevil.example", "/abc%00", "/ABC", "/abc;x",
	} {
		f.store.links["abc"] = "https://a.example/"
		if w := f.follow(http.MethodGet, path); w.Code != http.StatusNotFound || w.Header().Get("Location") != "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	f.close(t, time.Minute)
	if len(f.kafka.clicks) != 0 {
		t.Errorf("counted %+v", f.kafka.clicks)
	}
}

// TestRedirectDoesNotGoRound: a link that leads back to the producer, by whatever host name or base, is not followed and makes no click.
func TestRedirectDoesNotGoRound(t *testing.T) {
	for _, c := range []struct {
		base, long string
		want       int
	}{
		{"", "http://sho.rt/abc", http.StatusNotFound}, // made with another Host
		{"", "https://SHO.RT.:443/other", http.StatusNotFound},
		{"", "https://a.example/", http.StatusFound},
		{"https://public.example", "http://sho.rt/abc", http.StatusNotFound}, // the producer's other name
		{"https://public.example", "https://public.example/abc", http.StatusNotFound},
		{"https://public.example/s", "https://public.example/s/abc", http.StatusNotFound},
		{"https://public.example/s", "https://public.example/shop", http.StatusFound},
		{"http://sho.rt/s", "http://sho.rt/s/abc", http.StatusNotFound},
		{"http://sho.rt/s", "http://sho.rt/shop", http.StatusFound}, // the producer serves one folder of this host
	} {
		f := newFixture(t, func(o *Options) { o.BaseURL = c.base })
		f.store.links["abc"] = c.long
		w := f.follow(http.MethodGet, "/abc")
		if w.Code != c.want || (c.want == http.StatusNotFound) != strings.Contains(w.Body.String(), `"link_loop"`) || (c.want == http.StatusNotFound) != (w.Header().Get("Location") == "") {
			t.Errorf("base %q, target %q: %d %v %s", c.base, c.long, w.Code, w.Header(), w.Body)
		}
		f.close(t, time.Minute)
		if n := len(f.kafka.clicks); n != 0 && c.want == http.StatusNotFound {
			t.Errorf("base %q, target %q: %d clicks", c.base, c.long, n)
		}
	}
}

func TestTheCacheAsksOnce(t *testing.T) {
	f := newFixture(t, nil)
	f.store.links["abc"] = "https://a.example/"
	f.store.gate = make(chan struct{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if w := f.follow(http.MethodHead, "/abc"); w.Code != http.StatusFound {
				t.Errorf("%d", w.Code)
			}
			if w := f.follow(http.MethodHead, "/none"); w.Code != http.StatusNotFound {
				t.Errorf("%d", w.Code)
			}
		})
	}
	close(f.store.gate)
	all.Wait()
	if f.store.asks("abc") != 1 || f.store.asks("none") != 1 {
		t.Errorf("asked %d and %d times", f.store.asks("abc"), f.store.asks("none"))
	}
	// What was missing is there as soon as it is made.
	if w := f.post(`{"short_url":"none","long_url":"https://a.example/"}`); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := f.follow(http.MethodHead, "/none"); w.Code != http.StatusFound {
		t.Errorf("just made: %d", w.Code)
	}
}

// TestLookupsAreBounded: a store that hangs gets a bounded number of requests, and cached links are still followed. A client that guesses
// names leaves places for others.
func TestLookupsAreBounded(t *testing.T) {
	f := newFixture(t, nil)
	f.store.links["known"] = "https://a.example/"
	f.follow(http.MethodHead, "/known")
	f.store.set(func() { f.store.gate = make(chan struct{}) })
	var all sync.WaitGroup
	var busy, missing atomic.Int64
	const alone = mostAsking - mostAsking/3 // what one client may have
	const guesses = alone + 100
	for i := range guesses {
		all.Go(func() {
			switch w := f.follow(http.MethodGet, fmt.Sprint("/guess", i)); {
			case w.Code == http.StatusNotFound:
				missing.Add(1)
			case w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "" && strings.Contains(w.Body.String(), "overloaded"):
				busy.Add(1)
			default:
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	for deadline := time.Now().Add(20 * time.Second); busy.Load() < guesses-alone; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d were told to come again", busy.Load(), guesses)
		}
	}
	if w := f.follow(http.MethodHead, "/known"); w.Code != http.StatusFound {
		t.Errorf("a link in memory: %d", w.Code)
	}
	for i := range 20 {
		all.Go(func() { f.followFrom(fmt.Sprintf("198.51.100.%d", i), "/same") }) // one lookup
		all.Go(func() { f.followFrom("192.0.2.1", fmt.Sprint("/another", i)) })
	}
	lookups := func() (n int) {
		f.store.set(func() { n = len(f.store.asked) - 1 }) // without the known one
		return n
	}
	for deadline := time.Now().Add(20 * time.Second); lookups() < alone+21; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lookups are under way", lookups())
		}
	}
	close(f.store.gate)
	all.Wait()
	if missing.Load() != alone || lookups() != alone+21 {
		t.Errorf("%d of one client were looked up, %d of all", missing.Load(), lookups())
	}
	if w := f.follow(http.MethodHead, fmt.Sprint("/guess", guesses)); w.Code != http.StatusNotFound {
		t.Errorf("afterwards: %d", w.Code)
	}
}

// slowStore answers after a while, as one that is busy.
type slowStore struct{ *memory }

func (s slowStore) Target(ctx context.Context, short string) (string, bool, error) {
	time.Sleep(20 * time.Millisecond)
	return s.memory.Target(ctx, short)
}

// TestAnothersLackOfPlaces: who waited for a lookup of a client that had no place for it asks for itself.
func TestAnothersLackOfPlaces(t *testing.T) {
	f := newFixture(t, nil)
	f.store.links["promo"] = "https://a.example/"
	begun, gate := make(chan struct{}), make(chan struct{})
	another := f.cache.asking.DoChan("promo", func() (any, error) {
		close(begun)
		<-gate
		return lookup{}, errBusy
	})
	<-begun
	var waiting, all sync.WaitGroup
	for range 20 {
		waiting.Add(1)
		all.Go(func() {
			waiting.Done()
			if long, found, err := f.cache.target(t.Context(), netip.Addr{}, "promo"); long == "" || !found || err != nil {
				t.Errorf("%q %v %v", long, found, err)
			}
		})
	}
	waiting.Wait()
	time.Sleep(10 * time.Millisecond) // most wait for the other's lookup by now
	close(gate)
	all.Wait()
	if r := <-another; !errors.Is(r.Err, errBusy) || f.store.asks("promo") != 1 {
		t.Errorf("%v, and the store was asked %d times", r.Err, f.store.asks("promo"))
	}
}

// TestGuessingLeavesLookups: a client guesses names over 512 connections. Others find a link that is not in memory.
func TestGuessingLeavesLookups(t *testing.T) {
	store := slowStore{newMemory()}
	store.links["promo"] = "https://a.example/"
	c := newCache(Options{Cache: 100, NegativeTTL: 5 * time.Second, Store: store})
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	hostile, honest := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.7")
	var all sync.WaitGroup
	var n, refused atomic.Int64
	for range 512 {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, _, err := c.target(ctx, hostile, fmt.Sprint("x", n.Add(1))); errors.Is(err, errBusy) {
					refused.Add(1)
				}
				time.Sleep(time.Millisecond) // its next request
			}
		})
	}
	for asked := 0; asked == 0 || ctx.Err() == nil; asked++ {
		c.found.Purge()
		if _, found, err := c.target(t.Context(), honest, "promo"); err != nil || !found {
			t.Errorf("lookup %d of an honest client: %v %v", asked, found, err)
		}
	}
	if all.Wait(); refused.Load() == 0 {
		t.Error("who guesses was never refused: nothing is shown")
	}
}

func TestMissingIsForgotten(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.NegativeTTL = 10 * time.Millisecond })
	if w := f.follow(http.MethodHead, "/late"); w.Code != http.StatusNotFound {
		t.Fatalf("%d", w.Code)
	}
	f.store.set(func() { f.store.links["late"] = "https://a.example/" }) // by another producer
	for deadline := time.Now().Add(10 * time.Second); f.follow(http.MethodHead, "/late").Code != http.StatusFound; {
		if time.Now().After(deadline) {
			t.Fatal("a missing link is remembered for ever")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestABrokenStoreIsNot404(t *testing.T) {
	f := newFixture(t, nil)
	f.store.links["abc"], f.store.links["known"] = "https://a.example/", "https://a.example/"
	f.follow(http.MethodHead, "/known")
	f.store.set(func() { f.store.broken = true })
	if w := f.follow(http.MethodGet, "/abc"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d", w.Code)
	}
	if w := f.follow(http.MethodHead, "/known"); w.Code != http.StatusFound {
		t.Errorf("a link in the cache: %d", w.Code)
	}
	f.store.set(func() { f.store.broken = false })
	if w := f.follow(http.MethodHead, "/abc"); w.Code != http.StatusFound {
		t.Errorf("the error was remembered: %d", w.Code)
	}
}

// takenStore has every name already.
type takenStore struct {
	*memory
	tried []string
}

func (s *takenStore) Create(_ context.Context, short, _ string, _ time.Time) (string, bool, error) {
	s.tried = append(s.tried, short)
	return "https://a.example/", false, nil
}

// TestLongTargetsTakeMoreOfTheCache: somebody may create many links with the longest targets.
func TestLongTargetsTakeMoreOfTheCache(t *testing.T) {
	c := newCache(Options{Cache: 100, NegativeTTL: time.Second})
	long := strings.Repeat("x", MaxTarget)
	for i := range 100 {
		c.put(strconv.Itoa(i), long)
		c.put(strconv.Itoa(i), long) // again: its bytes count once
	}
	if n := c.found.Len(); n != 100*linkBytes/(MaxTarget+2) {
		t.Errorf("%d targets of 2 KB are kept where 100 of 256 bytes may be", n)
	}
	for i := range 100 {
		c.put("short"+strconv.Itoa(i), "https://example.org/")
	}
	if n := c.found.Len(); n != 100 {
		t.Errorf("%d of 100 short targets are kept", n)
	}
}
