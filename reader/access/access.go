// Package access decides who may read counts: read keys by their hash, share links by their signature. It is pure: it gets what a
// request carries, and the time.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"footfall/configs"
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
	grants  []grant
	secrets [][]byte
}

// grant is an entry of access.readers.
type grant struct {
	site, links string // patterns
	hashes      [][sha256.Size]byte
}

// minSecret is how short a secret may be: 32 bytes are as many as the signature has.
const minSecret = 32

// New reads the configuration; an error says what is wrong with it.
func New(cfg configs.ReadAccess) (*Access, error) {
	if cfg.Open && len(cfg.Readers) > 0 {
		return nil, errors.New("access.open lets anyone read, and the keys of access.readers would keep nobody out: " +
			"set access.open: false (FOOTFALL_ACCESS_OPEN=false), or leave access.readers empty")
	}
	a := &Access{open: cfg.Open}
	for i, r := range cfg.Readers {
		g, err := newGrant(r)
		if err != nil {
			return nil, fmt.Errorf("access.readers: number %d (site %q, links %q) %w", i+1, r.Site, r.Links, err)
		}
		a.grants = append(a.grants, g)
	}
	for i, secret := range cfg.ShareSecrets {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("access.share_secrets: number %d has %d bytes: want %d or more; `openssl rand -hex 32` makes one", i+1, len(secret), minSecret)
		}
		a.secrets = append(a.secrets, []byte(secret))
	}
	return a, nil
}

func newGrant(r configs.ReadGrant) (grant, error) {
	g := grant{site: r.Site, links: r.Links}
	switch {
	case r.Site == "" && r.Links == "":
		return g, errors.New("names neither a site nor links: it lets nobody read anything")
	case len(r.KeyHashes) == 0:
		return g, errors.New("has no key_hashes: make one with `printf %s KEY | sha256sum`")
	}
	for _, text := range r.KeyHashes {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != sha256.Size {
			return g, errors.New("has a key hash that is not 64 hex digits: `printf %s KEY | sha256sum` makes one")
		}
		g.hashes = append(g.hashes, [sha256.Size]byte(raw))
	}
	return g, nil
}

// Open tells whether anyone may read (access.open).
func (a *Access) Open() bool { return a.open }

// Empty tells whether nobody may read.
func (a *Access) Empty() bool { return !a.open && len(a.grants) == 0 && len(a.secrets) == 0 }

// Holder is what somebody may read. The zero Holder may read nothing.
type Holder struct {
	all                  bool
	grants               []grant
	exactSite, exactLink string // of a share link; names, not patterns
}

// Of finds out what the holder of a key, or of a share link if key is empty, may read at this time. Errors are *Denied. Every
// hash and every secret is tried, in constant time each, so that the duration tells nothing about them.
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
	hash := sha256.Sum256([]byte(key))
	var h Holder
	for _, g := range a.grants {
		match := 0
		for i := range g.hashes {
			match |= subtle.ConstantTimeCompare(hash[:], g.hashes[i][:])
		}
		if match == 1 {
			h.grants = append(h.grants, g)
		}
	}
	if len(h.grants) == 0 {
		return Holder{}, &Denied{WrongKey, "no such read key"}
	}
	return h, nil
}

// Site tells whether the holder may read a site.
func (h Holder) Site(name string) bool {
	return h.all || (name != "" && name == h.exactSite) ||
		slices.ContainsFunc(h.grants, func(g grant) bool { return matches(g.site, name) })
}

// Link tells whether the holder may read a link.
func (h Holder) Link(name string) bool {
	return h.all || (name != "" && name == h.exactLink) ||
		slices.ContainsFunc(h.grants, func(g grant) bool { return matches(g.links, name) })
}

// Shared tells whether this is the holder of a share link, which is passed on more easily than a key is.
func (h Holder) Shared() bool { return h.exactSite != "" || h.exactLink != "" }

// Shares is the site or the link of a share link. Both are empty if this is no holder of one.
func (h Holder) Shares() (site, link string) { return h.exactSite, h.exactLink }

// ListsSites tells whether the holder may ask for the names of sites, and gets those that it may read. The holder of a share link may
// not: it knows its name.
func (h Holder) ListsSites() bool {
	return h.all || slices.ContainsFunc(h.grants, func(g grant) bool { return g.site != "" })
}

// ListsLinks is ListsSites, of links.
func (h Holder) ListsLinks() bool {
	return h.all || slices.ContainsFunc(h.grants, func(g grant) bool { return g.links != "" })
}

// All tells whether the holder may read every site and every link.
func (h Holder) All() bool {
	return h.all || slices.ContainsFunc(h.grants, func(g grant) bool { return g.site == "*" }) &&
		slices.ContainsFunc(h.grants, func(g grant) bool { return g.links == "*" })
}

// Sees is a text that is the same only for holders who may read the same.
func (h Holder) Sees() string {
	text := fmt.Sprintf("%v %q %q", h.all, h.exactSite, h.exactLink)
	for _, g := range h.grants {
		text += fmt.Sprintf(" %q %q", g.site, g.links)
	}
	return text
}

// matches tells whether a name fits a pattern: a name, or a prefix and a *. The empty pattern matches nothing.
func matches(pattern, name string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, beginning)
	}
	return pattern != "" && pattern == name
}
