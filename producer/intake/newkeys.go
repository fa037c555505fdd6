package intake

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"footfall/models"
	"footfall/producer/answer"
)

// namesRoom is how many sites and links are remembered, detailsRoom how much else: with the rates and visitors beside them, 95 MB of
// memory when all is full.
const namesRoom, detailsRoom = 1 << 17, 1 << 18

// visitors are the grant of those who follow links, which takes no key.
const visitors = "visitors"

// newKeys bounds how many new rows a sender can make in the tables. A link is a key of its own and has rows for each
// referrer and each day, a site has a key for every combination of features in every month, and all of them stay there for
// ever.
//
// What is new is decided from memory alone: asking the store would be slower than counting. A name that was pushed out of
// memory counts as new again; see knownKeys for whose that is. Sites and links have a memory of their own, which nothing else
// pushes them out of: a site that is forgotten costs its grant, which has one limit for all its sites, whereas its features
// cost the site, which has a limit for itself. It is safe for concurrent use.
type newKeys struct {
	perMinute int
	referrers int // of a link whose visitors need no key
	seed      maphash.Seed

	mu      sync.Mutex
	grants  map[string]*minute
	names   *knownKeys[*minute] // a site's minute is that of its features; a link has one if visitors follow it
	details *knownKeys[struct{}]
}

// minute counts what was new since it began.
type minute struct {
	began time.Time
	fresh int
}

// watchNewKeys returns nil, which limits nobody, where both are 0.
func watchNewKeys(perMinute, referrers int) *newKeys {
	if perMinute <= 0 && referrers <= 0 {
		return nil
	}
	return &newKeys{
		perMinute: perMinute, referrers: referrers, seed: maphash.MakeSeed(), grants: map[string]*minute{},
		names: newKnownKeys[*minute](namesRoom), details: newKnownKeys[struct{}](detailsRoom),
	}
}

// note returns an error if the event has a new key and there were too many. Links and what belongs to them count for the
// grant. A combination of features counts for its site, and a new site for the grant, or a key for all sites could go on under
// another name for ever.
func (k *newKeys) note(grant string, event models.Event, now time.Time) error {
	if k == nil || k.perMinute <= 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.minuteOf(grant)
	switch e := event.(type) {
	case *models.Click:
		return k.click(grant, all, e, now)
	case *models.Visit:
		site, err := k.name(grant, all, "site\x00"+e.SiteID, now)
		if err != nil {
			return err
		}
		month := strconv.FormatInt(int64(e.TS.Month()), 10)
		return k.detail(grant, site, "features\x00"+e.SiteID+"\x00"+month+"\x00"+string(models.NewFeatures(e.Features...)), now)
	}
	return nil
}

func (k *newKeys) click(grant string, all *minute, c *models.Click, now time.Time) error {
	if _, err := k.name(grant, all, "link\x00"+c.ShortURL, now); err != nil {
		return err
	}
	// Every link has rows for the days as they come; only a sender's own times can make many at once.
	const day = 24 * time.Hour
	if at := c.TS.Time(); now.Sub(at).Abs() > day {
		if err := k.detail(grant, all, "day\x00"+c.ShortURL+"\x00"+strconv.FormatInt(at.Unix()/int64(day/time.Second), 10), now); err != nil {
			return err
		}
	}
	if c.Referrer == "" { // the row that every link has
		return nil
	}
	return k.detail(grant, all, "referrer\x00"+c.ShortURL+"\x00"+c.Referrer, now)
}

// minuteOf is what a grant's own counts for. The caller holds mu.
func (k *newKeys) minuteOf(grant string) *minute {
	all := k.grants[grant]
	if all == nil {
		all = &minute{}
		k.grants[grant] = all
	}
	return all
}

// referrer is note for the click of a link that is there: only its referrer can be new. Whoever makes it up needs no key, so that
// each link has a limit of its own, far below that of a key, and all links together that of one key.
func (k *newKeys) referrer(c *models.Click, now time.Time) error {
	if k == nil || c.Referrer == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := maphash.String(k.seed, "link\x00"+c.ShortURL)
	link, known := k.names.get(visitors, key)
	if !known {
		link = &minute{}
		k.names.add(visitors, key, link)
	}
	referrer := maphash.String(k.seed, "referrer\x00"+c.ShortURL+"\x00"+c.Referrer)
	if _, known := k.details.get(visitors, referrer); known {
		return nil
	}
	all := k.minuteOf(visitors)
	if !link.room(k.referrers, now) || !all.room(k.perMinute, now) {
		return &answer.Refusal{Reason: answer.TooManyNewKeys}
	}
	link.fresh++
	all.fresh++
	k.details.add(visitors, referrer, struct{}{})
	return nil
}

// name notes a site or a link, which counts for all of its grant, and returns the minute of what belongs to it.
func (k *newKeys) name(grant string, all *minute, name string, now time.Time) (*minute, error) {
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

// detail notes something that belongs to a site or a link, which counts for m.
func (k *newKeys) detail(grant string, m *minute, name string, now time.Time) error {
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
	if !m.room(k.perMinute, now) {
		return &answer.Refusal{
			Reason: answer.TooManyNewKeys, Detail: "too many links, their referrers or days, sites or features that were never seen before",
			After: m.ends(now),
		}
	}
	m.fresh++
	return nil
}

// room tells whether there may be one more; most is 0 for no limit.
func (m *minute) room(most int, now time.Time) bool {
	if now.Sub(m.began) >= time.Minute {
		m.began, m.fresh = now, 0
	}
	return most <= 0 || m.fresh < most
}

// ends is how long to wait for the next minute.
func (m *minute) ends(now time.Time) time.Duration { return max(m.began.Add(time.Minute).Sub(now), 1) }
