package page

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"footfall/reader/stats"
)

// remembering keeps the rankings of the first page for a moment: many people have it open at once, and each of them asks every second for
// what takes hundreds of reads. They are kept by what a request has to show for itself, since not everybody may see the same.
type remembering struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*busiest
}

// busiest is one pair of rankings. Its lock is held while they are read, so that those who wait read nothing themselves.
type busiest struct {
	mu           sync.Mutex
	read         time.Time // zero: never
	links, sites stats.Top
}

const (
	keptFor  = 500 * time.Millisecond
	mostKept = 256 // keys and share links, beyond which all are forgotten
)

// credentials is what tells people apart: a read key or a share link, as a hash.
func credentials(r *http.Request) [sha256.Size]byte {
	return sha256.Sum256([]byte(r.Header.Get("Authorization") + "\n" + r.URL.Query().Get("share")))
}

func (m *remembering) of(who [sha256.Size]byte) *busiest {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil || len(m.entries) >= mostKept {
		m.entries = map[[sha256.Size]byte]*busiest{}
	}
	if m.entries[who] == nil {
		m.entries[who] = &busiest{}
	}
	return m.entries[who]
}

// get returns rankings that are no older than keptFor; read makes new ones. What failed is not kept.
func (b *busiest) get(ctx context.Context, read func(context.Context) (links, sites stats.Top, err error)) (links, sites stats.Top, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.read) < keptFor {
		return b.links, b.sites, nil
	}
	began := time.Now()
	if links, sites, err = read(ctx); err == nil {
		b.read, b.links, b.sites = began, links, sites
	}
	return links, sites, err
}
