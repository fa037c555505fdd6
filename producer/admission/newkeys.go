package admission

import (
	"container/heap"
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/models"
	"footfall/producer/answer"
)

// namesKept is how many sites and links are remembered, detailsKept how many referrers, days and features. Together with the
// rates and visitors they take 95 MB when all are full.
const namesKept, detailsKept = 1 << 17, 1 << 18

// redirects is the grant that clicks on short links count for: following a link takes no key.
const redirects = "visitors"

// newKeys limits how many new rows a sender may cause in the tables. A link is a key of its own, with rows for each referrer
// and each day. A site has a key for every combination of features in every month. All of them stay for ever.
//
// Whether a name is new is decided from memory alone: asking the store would take longer than counting the event. An evicted
// name counts as new again; knownKeys says whose names are evicted. Sites and links are remembered apart from the rest, so that
// nothing else evicts them: a forgotten site is charged to its grant, which has one limit for all its sites, whereas forgotten
// features are charged to the site, which has a limit of its own. It is safe for concurrent use.
type newKeys struct {
	perMinute int
	referrers int // new referrers a minute of a link that is followed without a key
	seed      maphash.Seed

	mu      sync.Mutex
	grants  map[string]*minute
	names   *knownKeys[*minute] // a site's minute counts its features; a link's its referrers, if it is followed without a key
	details *knownKeys[struct{}]
}

// minute counts new names since it began.
type minute struct {
	began time.Time
	count int
}

// limitNewKeys returns nil, which limits nobody, where both are 0.
func limitNewKeys(perMinute, referrers int) *newKeys {
	if perMinute <= 0 && referrers <= 0 {
		return nil
	}
	return &newKeys{
		perMinute: perMinute, referrers: referrers, seed: maphash.MakeSeed(), grants: map[string]*minute{},
		names: newKnownKeys[*minute](namesKept), details: newKnownKeys[struct{}](detailsKept),
	}
}

// check returns an error if the event has a new key and there were enough in this minute. Links, their referrers and days, and
// sites count for the grant. A combination of features counts for its site. New sites have to count for the grant, or the
// holder of a key for all sites could go on for ever under new site names.
func (k *newKeys) check(grant string, event models.Event, now time.Time) error {
	if k == nil || k.perMinute <= 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.minuteOf(grant)
	switch e := event.(type) {
	case *models.Click:
		return k.checkClick(grant, all, e, now)
	case *models.Visit:
		site, err := k.checkName(grant, all, "site\x00"+e.SiteID, now)
		if err != nil {
			return err
		}
		month := strconv.FormatInt(int64(e.TS.Month()), 10)
		return k.checkDetail(grant, site, "features\x00"+e.SiteID+"\x00"+month+"\x00"+string(models.NewFeatures(e.Features...)), now)
	}
	return nil
}

func (k *newKeys) checkClick(grant string, all *minute, c *models.Click, now time.Time) error {
	if _, err := k.checkName(grant, all, "link\x00"+c.ShortURL, now); err != nil {
		return err
	}
	// Every link gets a row each day. Only a sender that sets the time itself can cause many at once.
	const day = 24 * time.Hour
	if at := c.TS.Time(); now.Sub(at).Abs() > day {
		if err := k.checkDetail(grant, all, "day\x00"+c.ShortURL+"\x00"+strconv.FormatInt(at.Unix()/int64(day/time.Second), 10), now); err != nil {
			return err
		}
	}
	if c.Referrer == "" { // the row that every link has
		return nil
	}
	return k.checkDetail(grant, all, "referrer\x00"+c.ShortURL+"\x00"+c.Referrer, now)
}

// minuteOf is what counts for a grant as a whole. The caller holds mu.
func (k *newKeys) minuteOf(grant string) *minute {
	all := k.grants[grant]
	if all == nil {
		all = &minute{}
		k.grants[grant] = all
	}
	return all
}

// checkReferrer is check for the click of a redirect. The link exists, so only the referrer can be new. Anybody can make
// referrers up without a key. So each link has a limit of its own, far below that of a key, and all links together have the
// limit of one key.
func (k *newKeys) checkReferrer(c *models.Click, now time.Time) error {
	if k == nil || c.Referrer == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := maphash.String(k.seed, "link\x00"+c.ShortURL)
	link, known := k.names.get(redirects, key)
	if !known {
		link = &minute{}
		k.names.add(redirects, key, link)
	}
	referrer := maphash.String(k.seed, "referrer\x00"+c.ShortURL+"\x00"+c.Referrer)
	if _, known := k.details.get(redirects, referrer); known {
		return nil
	}
	all := k.minuteOf(redirects)
	if !link.allows(k.referrers, now) || !all.allows(k.perMinute, now) {
		return &answer.Refusal{Reason: answer.TooManyNewKeys}
	}
	link.count++
	all.count++
	k.details.add(redirects, referrer, struct{}{})
	return nil
}

// checkName checks a site or a link, which counts for all of its grant. It returns the minute of what belongs to it.
func (k *newKeys) checkName(grant string, all *minute, name string, now time.Time) (*minute, error) {
	key := maphash.String(k.seed, name)
	if own, known := k.names.get(grant, key); known {
		return own, nil
	}
	if err := k.count(all, now); err != nil {
		return nil, err
	}
	own := &minute{}
	k.names.add(grant, key, own)
	return own, nil
}

// checkDetail checks something that belongs to a site or a link, and counts for m.
func (k *newKeys) checkDetail(grant string, m *minute, name string, now time.Time) error {
	key := maphash.String(k.seed, name)
	if _, known := k.details.get(grant, key); known {
		return nil
	}
	if err := k.count(m, now); err != nil {
		return err
	}
	k.details.add(grant, key, struct{}{})
	return nil
}

func (k *newKeys) count(m *minute, now time.Time) error {
	if !m.allows(k.perMinute, now) {
		return &answer.Refusal{
			Reason: answer.TooManyNewKeys, Detail: "too many links, their referrers or days, sites or features that were never seen before",
			After: m.ends(now),
		}
	}
	m.count++
	return nil
}

// allows tells whether there may be one more; most is 0 for no limit.
func (m *minute) allows(most int, now time.Time) bool {
	if now.Sub(m.began) >= time.Minute {
		m.began, m.count = now, 0
	}
	return most <= 0 || m.count < most
}

// ends is how long it takes until the next minute.
func (m *minute) ends(now time.Time) time.Duration { return max(m.began.Add(time.Minute).Sub(now), 1) }

// knownKeys is an LRU of keys for each grant, with one bound for all. When it is full it evicts the least recently seen key of
// the grant that has the most. So a grant that makes up names evicts its own, and a grant with no more than its share of the
// room loses nothing. Grants are never evicted: the configuration bounds their number. It is not safe for concurrent use.
type knownKeys[V any] struct {
	room   int
	used   int
	grants map[string]*grantKeys[V]
	most   bySize[V]
}

// grantKeys are the keys of a grant.
type grantKeys[V any] struct {
	keys  *simplelru.LRU[uint64, V]
	index int // in bySize
}

func newKnownKeys[V any](room int) *knownKeys[V] {
	return &knownKeys[V]{room: room, grants: map[string]*grantKeys[V]{}}
}

// get finds a key, and makes it the most recently seen.
func (k *knownKeys[V]) get(grant string, key uint64) (value V, known bool) {
	if of := k.grants[grant]; of != nil {
		return of.keys.Get(key)
	}
	return value, false
}

// add remembers a key that is not known.
func (k *knownKeys[V]) add(grant string, key uint64, value V) {
	of := k.grants[grant]
	if of == nil {
		keys, err := simplelru.NewLRU[uint64, V](k.room+1, nil) // never full: the bound for all grants is lower
		if err != nil {
			panic(err) // the size is not positive
		}
		of = &grantKeys[V]{keys: keys}
		k.grants[grant] = of
		heap.Push(&k.most, of)
	}
	of.keys.Add(key, value)
	heap.Fix(&k.most, of.index)
	k.used++
	if k.used > k.room {
		k.most[0].keys.RemoveOldest()
		heap.Fix(&k.most, 0)
		k.used--
	}
}

// bySize is a heap of grants: the one with the most keys is first.
type bySize[V any] []*grantKeys[V]

func (h bySize[V]) Len() int           { return len(h) }
func (h bySize[V]) Less(i, j int) bool { return h[i].keys.Len() > h[j].keys.Len() }

func (h bySize[V]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *bySize[V]) Push(x any) {
	of := x.(*grantKeys[V])
	of.index = len(*h)
	*h = append(*h, of)
}

// Pop is there for heap.Interface only: grants are never removed.
func (h *bySize[V]) Pop() any {
	last := len(*h) - 1
	of := (*h)[last]
	*h = (*h)[:last]
	return of
}
