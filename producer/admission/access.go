package admission

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"footfall/configs"
	"footfall/internal/grant"
	"footfall/models"
	"footfall/producer/answer"
)

// Access knows who may write what. It is safe for concurrent use.
type Access struct {
	Open   bool // anyone may write (access.open)
	grants []Grant
}

// Grant is what the holder of one of its keys may do: an entry of access.sites.
type Grant struct {
	grant.Grant
	Name    string // identifies the grant in limits and shares
	creates bool   // whether the holder may create links of its pattern
	origins []string
}

// NewAccess reads the configuration; an error says what is wrong with it.
func NewAccess(cfg configs.Access) (*Access, error) {
	const list = "access.sites"
	if err := grant.CheckOpen(cfg.Open, len(cfg.Sites), list, "write"); err != nil {
		return nil, err
	}
	a := &Access{Open: cfg.Open}
	for i, s := range cfg.Sites {
		basic, err := grant.New(list, i, s.Site, s.Links, s.KeyHashes)
		if err != nil {
			return nil, err
		}
		if s.CreateLinks && s.Links == "" {
			return nil, fmt.Errorf("access.sites: %s has create_links, but no links: say which names its key may make", s.Site)
		}
		g := Grant{Grant: basic, Name: fmt.Sprintf("grant %d", i), creates: s.CreateLinks}
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

// Empty tells whether nobody may write: access.open is false and access.sites is empty.
func (a *Access) Empty() bool { return !a.Open && len(a.grants) == 0 }

// defaultPorts are left out of the origins that browsers send.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// parseOrigin turns an origin as an operator writes it into the form that browsers send. It refuses an origin that no browser
// sends, because such an entry would look as if it let somebody in.
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

// keyOf is the write key of a request: Authorization: Bearer, or ?key= for senders that cannot set headers.
func keyOf(r *http.Request) string {
	if key := grant.Bearer(r); key != "" {
		return key
	}
	return r.URL.Query().Get("key")
}

// Grants are those of a request's key. If anyone may write there are none, and no error.
func (a *Access) Grants(r *http.Request) ([]Grant, error) {
	if a.Open {
		return nil, nil
	}
	key := keyOf(r)
	if key == "" {
		return nil, &answer.Refusal{Reason: answer.MissingKey, Detail: "send your write key as Authorization: Bearer KEY, or as ?key=KEY"}
	}
	held := grant.Held(a.grants, key)
	if len(held) == 0 {
		return nil, &answer.Refusal{Reason: answer.WrongKey, Detail: "no such write key"}
	}
	return held, nil
}

// LinkGrants are those of a request's key that allow to create links. A key that may count clicks may not therefore say where
// links lead.
func (a *Access) LinkGrants(r *http.Request) ([]Grant, error) {
	held, err := a.Grants(r)
	if err != nil || a.Open {
		return held, err
	}
	held = slices.DeleteFunc(held, func(g Grant) bool { return !g.creates })
	if len(held) == 0 {
		return nil, &answer.Refusal{Reason: answer.WrongKey, Detail: "this key may not create links: its entry of access.sites needs create_links: true"}
	}
	return held, nil
}

// Page is the page that a request comes from, as far as its browser tells.
type Page struct {
	Origin string // the header Origin. A page cannot leave it out of a POST; whoever is not a browser can send any
	image  string // of a GET without that header, as <img> sends it: the origin in Referer, or "null" if another site's page hides it
}

// PageOf reads the headers Origin, Referer and Sec-Fetch-Site.
func PageOf(r *http.Request) Page {
	p := Page{Origin: r.Header.Get("Origin")}
	if p.Origin != "" || r.Method != http.MethodGet {
		return p
	}
	switch u, err := url.Parse(r.Referer()); {
	case r.Referer() == "":
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			p.image = "null"
		}
	case err != nil || u.Scheme == "" || u.Host == "":
		p.image = "null"
	default:
		p.image = u.Scheme + "://" + u.Host
	}
	return p
}

// Owner is the name of the grant that allows an event, or an *answer.Refusal.
func (a *Access) Owner(held []Grant, from Page, event models.Event) (string, error) {
	if a.Open {
		return "anyone", nil
	}
	var why error = &answer.Refusal{Reason: answer.WrongKey, Detail: "this key is not for this site or link"}
	for _, g := range held {
		if !g.covers(event) {
			continue
		}
		if g.admits(from) {
			return g.Name, nil
		}
		why = &answer.Refusal{Reason: answer.OriginNotAllowed, Detail: "this key is not for pages of this origin"}
	}
	return "", why
}

// Prefix is how short URLs begin that are made up for the holder of a key: the shortest prefix that its grants allow and that
// valid accepts. It returns an *answer.Refusal if there is none.
func (a *Access) Prefix(held []Grant, from Page, valid func(prefix string) bool) (string, error) {
	if a.Open {
		return "", nil
	}
	shortest := ""
	var why error = &answer.Refusal{Reason: answer.WrongKey, Detail: "this key is not for names that are made up: send the short_url that you want"}
	for _, g := range held {
		text, several := strings.CutSuffix(g.LinksPattern, "*")
		switch {
		case !several || !valid(text):
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

// OnlySite is the site that the request's key, or its origin, belongs to, if there is exactly one. Otherwise it is empty. It is
// the site of a visit that names none. If anyone may write there are no keys, and no such site.
func (a *Access) OnlySite(held []Grant, origin string) string {
	only := ""
	for _, g := range held {
		switch {
		case g.SitePattern == "", origin != "" && !g.allows(origin):
		case strings.HasSuffix(g.SitePattern, "*"), only != "" && only != g.SitePattern:
			return ""
		default:
			only = g.SitePattern
		}
	}
	return only
}

// OnPages tells whether a grant of a key lists origins. Then the key is part of pages, and known to all who can read them.
func OnPages(held []Grant) bool {
	return slices.ContainsFunc(held, func(g Grant) bool { return len(g.origins) > 0 })
}

// covers tells whether a grant is about an event's site or link.
func (g *Grant) covers(event models.Event) bool {
	switch e := event.(type) {
	case *models.Visit:
		return g.Site(e.SiteID)
	case *models.Click:
		return g.Link(e.ShortURL)
	}
	return false
}

// admits tells whether a grant takes events from a page. Requests that show no page pass: a service, a mail program. A grant
// without origins takes no events that a page posts, but its pixel may be on any page.
func (g *Grant) admits(from Page) bool {
	switch {
	case from.Origin != "":
		return g.allows(from.Origin)
	case from.image != "" && len(g.origins) > 0:
		return g.allows(from.image)
	}
	return true
}

func (g *Grant) allows(origin string) bool {
	return slices.Contains(g.origins, "*") || slices.Contains(g.origins, strings.ToLower(origin))
}

// AllowsOrigin tells whether any grant takes events from pages of this origin. A preflight request does not say for which site
// it asks.
func (a *Access) AllowsOrigin(origin string) bool {
	return a.Open || slices.ContainsFunc(a.grants, func(g Grant) bool { return g.allows(origin) })
}
