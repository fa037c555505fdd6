package intake

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/models"
)

// seenKeys is how many names are remembered as known: about 20 MB of memory when full.
const seenKeys = 1 << 17

// newKeys bounds how many new rows a sender can make in the tables. A link is a key of its own and has a row for each
// referrer, a site has a key for every combination of features in every month, and all of them stay there for ever.
//
// What is new is decided from memory alone: asking the store would be slower than counting. A name that others pushed
// out of memory counts as new again. It is safe for concurrent use.
type newKeys struct {
	perMinute int
	seed      maphash.Seed

	mu     sync.Mutex
	seen   *simplelru.LRU[uint64, struct{}]
	counts *simplelru.LRU[string, *minute] // by owner
}

// minute counts the new keys of an owner since it began.
type minute struct {
	began time.Time
	keys  int
}

// watchNewKeys returns nil, which limits nobody, for 0.
func watchNewKeys(perMinute int) *newKeys {
	if perMinute <= 0 {
		return nil
	}
	seen, err := simplelru.NewLRU[uint64, struct{}](seenKeys, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	counts, err := simplelru.NewLRU[string, *minute](remembered, nil)
	if err != nil {
		panic(err)
	}
	return &newKeys{perMinute: perMinute, seed: maphash.MakeSeed(), seen: seen, counts: counts}
}

// note returns an error if the event has a new key and its owner had too many. A link belongs to the owner of the write
// key; a combination of features belongs to its site, and a new site to the owner of the write key, or a key for all sites
// could go on under another name for ever.
func (k *newKeys) note(owner string, event models.Event, now time.Time) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e := event.(type) {
	case *models.Click:
		if err := k.count(owner, "link\x00"+e.ShortURL, now); err != nil {
			return err
		}
		if e.Referrer == "" { // the row that every link has
			return nil
		}
		return k.count(owner, "referrer\x00"+e.ShortURL+"\x00"+e.Referrer, now)
	case *models.Visit:
		if err := k.count(owner, "site\x00"+e.SiteID, now); err != nil {
			return err
		}
		month := strconv.FormatInt(int64(e.TS.Month()), 10)
		return k.count("site "+e.SiteID, month+"\x00"+string(models.NewFeatures(e.Features...)), now)
	}
	return nil
}

// referrer is note for the click of a link that is there: only its referrer can be new.
func (k *newKeys) referrer(owner string, c *models.Click, now time.Time) error {
	if k == nil || c.Referrer == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.count(owner, "referrer\x00"+c.ShortURL+"\x00"+c.Referrer, now)
}

func (k *newKeys) count(owner, key string, now time.Time) error {
	hash := maphash.String(k.seed, owner+"\x00\x00"+key)
	if _, known := k.seen.Get(hash); known {
		return nil
	}
	m, ok := k.counts.Get(owner)
	if !ok || now.Sub(m.began) >= time.Minute {
		m = &minute{began: now}
		k.counts.Add(owner, m)
	}
	if m.keys >= k.perMinute {
		return &refusal{
			reason: tooManyNewKeys, detail: "too many links, referrers, sites or features that were never seen before",
			after: max(m.began.Add(time.Minute).Sub(now), 1),
		}
	}
	m.keys++
	k.seen.Add(hash, struct{}{})
	return nil
}
