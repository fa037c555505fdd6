package intake

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/answer"
	"footfall/producer/links"
)

// access knows who may write what. It is safe for concurrent use.
type access struct {
	open   bool
	grants []grant
}

// grant is what the holder of one of its keys may do.
type grant struct {
	name    string // for the limits: what this grant's senders share
	site    string // pattern of site ids
	links   string // pattern of short URLs
	makes   bool   // those links
	hashes  [][sha256.Size]byte
	origins []string
}

func newAccess(cfg configs.Access) (*access, error) {
	if cfg.Open && len(cfg.Sites) > 0 {
		return nil, errors.New("access.open lets anyone write, and the keys of access.sites would keep nobody out: " +
			"set access.open: false (FOOTFALL_ACCESS_OPEN=false), or leave access.sites empty")
	}
	a := &access{open: cfg.Open}
	for i, s := range cfg.Sites {
		g := grant{name: fmt.Sprintf("grant %d", i), site: s.Site, links: s.Links, makes: s.CreateLinks}
		if s.Site == "" && s.Links == "" {
			return nil, fmt.Errorf("access.sites: number %d names neither a site nor links: it lets nobody do anything", i+1)
		}
		if s.CreateLinks && s.Links == "" {
			return nil, fmt.Errorf("access.sites: %s has create_links, but no links: say which names its key may make", s.Site)
		}
		if len(s.KeyHashes) == 0 {
			return nil, fmt.Errorf("access.sites: %s%s has no key_hashes: make one with `printf %%s KEY | sha256sum`", s.Site, s.Links)
		}
		for _, text := range s.KeyHashes {
			var hash [sha256.Size]byte
			if n, err := hex.Decode(hash[:], []byte(text)[:min(len(text), 2*len(hash))]); err != nil || n != len(hash) || len(text) != 2*n {
				return nil, fmt.Errorf("access.sites: %s%s has a key hash that is not 64 hex digits: `printf %%s KEY | sha256sum` makes one", s.Site, s.Links)
			}
			g.hashes = append(g.hashes, hash)
		}
		for _, text := range s.Origins {
			origin, err := parseOrigin(text)
			if err != nil {
				return nil, err
			}
			g.origins = append(g.origins, origin)
		}
		a.grants = append(a.grants, g)
	}
	return a, nil
}

// defaultPorts are not part of what a browser sends.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// parseOrigin takes what an operator writes and returns what a browser sends. What none would ever send is refused: it would
// only look as if it let somebody in.
func parseOrigin(text string) (string, error) {
	if text == "*" {
		return text, nil
	}
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Scheme == "" || u.Host == "" || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", errors.New("access.sites: " + text + " is no origin: write it as https://shop.example, with a port if it has one")
	}
	standard, web := defaultPorts[u.Scheme]
	switch {
	case !web:
		return "", errors.New("access.sites: " + text + " is no origin of a page: it begins with http:// or https://")
	case strings.Contains(u.Host, "*"):
		return "", errors.New("access.sites: " + text + " matches nothing: list each origin, or * alone for all")
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }):
		return "", errors.New("access.sites: " + text + " matches nothing: write the host as browsers send it, such as xn--bcher-kva.example")
	}
	if port := u.Port(); port == "" || port == standard {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + u.Host, nil
}

// keyOf finds the write key of a request: Authorization: Bearer, or ?key= for senders that cannot set headers.
func keyOf(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != "" {
		return strings.TrimSpace(token)
	}
	return r.URL.Query().Get("key")
}

// holds finds the grants that a request's key opens. Every hash is compared, in constant time each: how long it takes
// tells nothing about a key.
func (a *access) holds(r *http.Request) ([]grant, error) {
	if a.open {
		return nil, nil
	}
	key := keyOf(r)
	if key == "" {
		return nil, &answer.Refusal{Reason: answer.MissingKey, Detail: "send your write key as Authorization: Bearer KEY, or as ?key=KEY"}
	}
	hash := sha256.Sum256([]byte(key))
	var held []grant
	for _, g := range a.grants {
		match := 0
		for i := range g.hashes {
			match |= subtle.ConstantTimeCompare(hash[:], g.hashes[i][:])
		}
		if match == 1 {
			held = append(held, g)
		}
	}
	if len(held) == 0 {
		return nil, &answer.Refusal{Reason: answer.WrongKey, Detail: "no such write key"}
	}
	return held, nil
}

// makers finds those of the grants that a request's key opens whose holder may make links: to count clicks is no right to say
// where links lead.
func (a *access) makers(r *http.Request) ([]grant, error) {
	held, err := a.holds(r)
	if err != nil || a.open {
		return held, err
	}
	held = slices.DeleteFunc(held, func(g grant) bool { return !g.makes })
	if len(held) == 0 {
		return nil, &answer.Refusal{Reason: answer.WrongKey, Detail: "this key makes no links: its entry of access.sites needs create_links: true"}
	}
	return held, nil
}

// page is where a request comes from, as far as its browser tells.
type page struct {
	origin  string // of the header Origin, which no page can leave out of a POST; whoever is not a browser could send any
	picture string // for a GET without that header, as of an <img>: the origin in Referer; "null" for another site's page that hides it
}

func pageOf(r *http.Request) page {
	p := page{origin: r.Header.Get("Origin")}
	if p.origin != "" || r.Method != http.MethodGet {
		return p
	}
	switch u, err := url.Parse(r.Referer()); {
	case r.Referer() == "":
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			p.picture = "null"
		}
	case err != nil || u.Scheme == "" || u.Host == "":
		p.picture = "null"
	default:
		p.picture = u.Scheme + "://" + u.Host
	}
	return p
}

// owner is the name of the grant that lets an event in, or why none does.
func (a *access) owner(held []grant, from page, event models.Event) (string, error) {
	if a.open {
		return "anyone", nil
	}
	var why error = &answer.Refusal{Reason: answer.WrongKey, Detail: "this key is not for this site or link"}
	for _, g := range held {
		if !g.covers(event) {
			continue
		}
		if g.admits(from) {
			return g.name, nil
		}
		why = &answer.Refusal{Reason: answer.OriginNotAllowed, Detail: "this key is not for pages of this origin"}
	}
	return "", why
}

// beginning is what short URLs that are made up for the holder of a key begin with: the shortest that its grants allow.
func (a *access) beginning(held []grant, from page) (string, error) {
	if a.open {
		return "", nil
	}
	shortest := ""
	var why error = &answer.Refusal{Reason: answer.WrongKey, Detail: "this key is not for names that are made up: send the short_url that you want"}
	for _, g := range held {
		text, several := strings.CutSuffix(g.links, "*")
		switch {
		case !several || !links.Beginning(text):
		case g.admits(from):
			if why != nil || len(text) < len(shortest) {
				shortest, why = text, nil
			}
		case why != nil:
			why = &answer.Refusal{Reason: answer.OriginNotAllowed, Detail: "this key is not for pages of this origin"}
		}
	}
	return shortest, why
}

// onlySite is the site of a visit that names none, where the request's key or origin belongs to one site and no more; else
// it is empty. The sources' form has no site. A door that is open has no keys to ask.
func (a *access) onlySite(held []grant, origin string) string {
	only := ""
	for _, g := range held {
		switch {
		case g.site == "", origin != "" && !g.allows(origin):
		case strings.HasSuffix(g.site, "*"), only != "" && only != g.site:
			return ""
		default:
			only = g.site
		}
	}
	return only
}

// covers tells whether a grant is about an event's site or link.
func (g *grant) covers(event models.Event) bool {
	switch e := event.(type) {
	case *models.Visit:
		return matches(g.site, e.SiteID)
	case *models.Click:
		return matches(g.links, e.ShortURL)
	}
	return false
}

// admits tells whether a grant takes events from a page. What shows no page passes: a service, a mail program. A grant
// without origins is not for pages that send; a picture may be anywhere then.
func (g *grant) admits(from page) bool {
	switch {
	case from.origin != "":
		return g.allows(from.origin)
	case from.picture != "" && len(g.origins) > 0:
		return g.allows(from.picture)
	}
	return true
}

func (g *grant) allows(origin string) bool {
	return slices.Contains(g.origins, "*") || slices.Contains(g.origins, strings.ToLower(origin))
}

// allowsOrigin tells whether any site takes events from pages of this origin: a preflight request does not say for which
// site it asks.
func (a *access) allowsOrigin(origin string) bool {
	return a.open || slices.ContainsFunc(a.grants, func(g grant) bool { return g.allows(origin) })
}

// matches: a pattern is a name, or the beginning of names and a *. The empty pattern matches nothing.
func matches(pattern, name string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, beginning)
	}
	return pattern != "" && pattern == name
}
