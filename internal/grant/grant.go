// Package grant is what the entries of access.sites (the producer's) and of access.readers have in common: names that a key is for, and
// keys that are known by their hash.
package grant

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"footfall/models"
)

// Grant is the names and the keys of an entry.
type Grant struct {
	SitePattern, LinksPattern string
	hashes                    [][sha256.Size]byte
}

// New reads number i of a list of entries; an error says what is wrong with it.
func New(list string, i int, sites, links string, keyHashes []string) (Grant, error) {
	g := Grant{SitePattern: sites, LinksPattern: links}
	wrong := func(what string) (Grant, error) {
		return g, fmt.Errorf("%s: number %d (site %q, links %q) %s", list, i+1, sites, links, what)
	}
	switch {
	case sites == "" && links == "":
		return wrong("names neither a site nor links: it lets nobody do anything")
	case len(keyHashes) == 0:
		return wrong("has no key_hashes: make one with `printf %s KEY | sha256sum`")
	}
	for _, text := range keyHashes {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != sha256.Size {
			return wrong("has a key hash that is not 64 hex digits: `printf %s KEY | sha256sum` makes one")
		}
		g.hashes = append(g.hashes, [sha256.Size]byte(raw))
	}
	return g, nil
}

// CheckOpen refuses a configuration that has entries in a list although access.open lets anyone do it.
func CheckOpen(open bool, entries int, list, do string) error {
	if !open || entries == 0 {
		return nil
	}
	return errors.New("access.open lets anyone " + do + ", and the keys of " + list + " would keep nobody out: " +
		"set access.open: false (FOOTFALL_ACCESS_OPEN=false), or leave " + list + " empty")
}

// Held are the grants of a key. Every hash is compared, in constant time each, so that the duration tells nothing about a key.
func Held[G interface {
	has(hash [sha256.Size]byte) bool
}](grants []G, key string) (held []G) {
	hash := sha256.Sum256([]byte(key))
	for _, g := range grants {
		if g.has(hash) {
			held = append(held, g)
		}
	}
	return held
}

func (g Grant) has(hash [sha256.Size]byte) bool {
	match := 0
	for i := range g.hashes {
		match |= subtle.ConstantTimeCompare(hash[:], g.hashes[i][:])
	}
	return match == 1
}

// Names are those that fit a pattern, as ranges: none or one.
func Names(pattern string) []models.NameRange {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return []models.NameRange{models.NamesWith(beginning)}
	}
	if pattern == "" {
		return nil
	}
	return []models.NameRange{{From: pattern, To: pattern}}
}

// Site tells whether the grant is for a site.
func (g Grant) Site(name string) bool { return matches(g.SitePattern, name) }

// Link tells whether the grant is for a link.
func (g Grant) Link(name string) bool { return matches(g.LinksPattern, name) }

// matches tells whether a name fits a pattern: a name, or a prefix and a *. The empty pattern matches nothing.
func matches(pattern, name string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, beginning)
	}
	return pattern != "" && pattern == name
}

// Bearer is the key in the header Authorization of a request.
func Bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
