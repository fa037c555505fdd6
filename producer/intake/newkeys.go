package intake

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"footfall/models"
)

// newKeys bounds how many new rows a sender can make in the tables. A link is a key of its own and has a row for each
// referrer, a site has a key for every combination of features in every month, and all of them stay there for ever.
//
// What is new is decided from memory alone: asking the store would be slower than counting. A name that was pushed out of
// memory counts as new again; see knownKeys for whose that is. It is safe for concurrent use.
type newKeys struct {
	perMinute int
	seed      maphash.Seed

	mu    sync.Mutex
	known *knownKeys
}

// watchNewKeys returns nil, which limits nobody, for 0.
func watchNewKeys(perMinute int) *newKeys {
	if perMinute <= 0 {
		return nil
	}
	return &newKeys{perMinute: perMinute, seed: maphash.MakeSeed(), known: newKnownKeys(keysRoom)}
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
	hash := maphash.String(k.seed, key)
	o := k.known.owner(owner)
	if o != nil && o.has(hash) {
		return nil
	}
	if o == nil {
		o = k.known.newOwner(owner)
	}
	if now.Sub(o.began) >= time.Minute {
		o.began, o.fresh = now, 0
	}
	if o.fresh >= k.perMinute {
		return &refusal{
			reason: tooManyNewKeys, detail: "too many links, referrers, sites or features that were never seen before",
			after: max(o.began.Add(time.Minute).Sub(now), 1),
		}
	}
	o.fresh++
	k.known.add(o, hash)
	return nil
}
