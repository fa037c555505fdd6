// Package access decides who may read counts: read keys by their hash, share links by their signature. It is pure: it gets what a
// request carries, and the time.
package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"footfall/configs"
	"footfall/internal/grant"
	"footfall/models"
)

// Reasons of denials. They are part of the API, so they never change.
const (
	MissingKey   = "missing_key"
	WrongKey     = "wrong_key"
	BadShare     = "bad_share"
	ShareExpired = "share_expired"
)

// Denied is the error of all that is not allowed. It tells nothing about what exists.
type Denied struct {
	Reason string // for machines
	Detail string // for people
}

func (d *Denied) Error() string { return d.Reason + ": " + d.Detail }

// Access knows who may read what. It is safe for concurrent use.
type Access struct {
	open    bool
	grants  []grant.Grant // entries of access.readers
	secrets [][]byte
	revoked []string      // ids of share links
	longest time.Duration // life of a share link; 0: any
}

// minSecret is how short a secret may be: 32 bytes are as many as the signature has.
const minSecret = 32

// New reads the configuration; an error says what is wrong with it.
func New(cfg configs.ReadAccess) (*Access, error) {
	const list = "access.readers"
	if err := grant.CheckOpen(cfg.Open, len(cfg.Readers), list, "read"); err != nil {
		return nil, err
	}
	a := &Access{open: cfg.Open, longest: cfg.ShareLongest}
	for i, r := range cfg.Readers {
		g, err := grant.New(list, i, r.Site, r.Links, r.KeyHashes)
		if err != nil {
			return nil, err
		}
		a.grants = append(a.grants, g)
	}
	for i, secret := range cfg.ShareSecrets {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("access.share_secrets: number %d has %d bytes: want %d or more; `openssl rand -hex 32` makes one", i+1, len(secret), minSecret)
		}
		a.secrets = append(a.secrets, []byte(secret))
	}
	for _, text := range cfg.ShareRevoked {
		id, _, _ := strings.Cut(text, ".") // somebody may have copied more than the id
		a.revoked = append(a.revoked, id)
	}
	return a, nil
}

// Open tells whether anyone may read (access.open).
func (a *Access) Open() bool { return a.open }

// Empty tells whether nobody may read.
func (a *Access) Empty() bool { return !a.open && len(a.grants) == 0 && len(a.secrets) == 0 }

// Holder is what somebody may read. The zero Holder may read nothing.
type Holder struct {
	all                  bool
	grants               []grant.Grant
	exactSite, exactLink string // of a share link; names, not patterns
}

// Of finds out what the holder of a key, or of a share link if key is empty, may read at this time. Errors are *Denied. Every
// secret is tried, in constant time each, so that the duration tells nothing about them.
func (a *Access) Of(key, share string, now time.Time) (Holder, error) {
	switch {
	case a.open:
		return Holder{all: true}, nil
	case key != "":
		return a.ofKey(key)
	case share != "":
		return a.ofShare(share, now)
	}
	return Holder{}, &Denied{MissingKey, "send your read key as Authorization: Bearer KEY, or use a share link"}
}

func (a *Access) ofKey(key string) (Holder, error) {
	h := Holder{grants: grant.Held(a.grants, key)}
	if len(h.grants) == 0 {
		return Holder{}, &Denied{WrongKey, "no such read key"}
	}
	return h, nil
}

// Site tells whether the holder may read a site.
func (h Holder) Site(name string) bool {
	return h.all || (name != "" && name == h.exactSite) ||
		slices.ContainsFunc(h.grants, func(g grant.Grant) bool { return g.Site(name) })
}

// Link tells whether the holder may read a link.
func (h Holder) Link(name string) bool {
	return h.all || (name != "" && name == h.exactLink) ||
		slices.ContainsFunc(h.grants, func(g grant.Grant) bool { return g.Link(name) })
}

// Shares is the site or the link of a share link. Both are empty if this is no holder of one.
func (h Holder) Shares() (site, link string) { return h.exactSite, h.exactLink }

// Sites are the names of sites that the holder may list, in ranges without overlaps. The holder of a share link may list none: it knows
// its name.
func (h Holder) Sites() []models.NameRange {
	return h.names(func(g grant.Grant) string { return g.SitePattern })
}

// Links is Sites, of links.
func (h Holder) Links() []models.NameRange {
	return h.names(func(g grant.Grant) string { return g.LinksPattern })
}

func (h Holder) names(pattern func(grant.Grant) string) (list []models.NameRange) {
	if h.all {
		return []models.NameRange{models.NamesWith("")}
	}
	for _, g := range h.grants {
		list = append(list, grant.Names(pattern(g))...)
	}
	slices.SortFunc(list, func(a, b models.NameRange) int { return strings.Compare(a.From, b.From) })
	out := list[:0]
	for _, r := range list {
		if last := len(out) - 1; last >= 0 && r.From <= out[last].To {
			out[last].To = max(out[last].To, r.To)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// All tells whether the holder may read every site and every link.
func (h Holder) All() bool {
	return h.all || slices.ContainsFunc(h.grants, func(g grant.Grant) bool { return g.SitePattern == "*" }) &&
		slices.ContainsFunc(h.grants, func(g grant.Grant) bool { return g.LinksPattern == "*" })
}

// Sees is a text that is the same only for holders who may read the same.
func (h Holder) Sees() string {
	text := fmt.Sprintf("%v %q %q", h.all, h.exactSite, h.exactLink)
	for _, g := range h.grants {
		text += fmt.Sprintf(" %q %q", g.SitePattern, g.LinksPattern)
	}
	return text
}
