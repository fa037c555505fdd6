package page

import (
	"net/url"
	"strings"
)

// place is a page's address.
type place struct {
	kind string // "links", "sites"; empty: the first page
	name string // of the link or site
	q    url.Values
}

// parsePlace reads an address. Its path is cut before it is decoded, so that a name may have any character.
func parsePlace(u *url.URL) (at place, ok bool) {
	at.q = u.Query()
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	at.kind = parts[0]
	switch {
	case len(parts) == 1 && (at.kind == "links" || at.kind == "sites"):
		at.name = at.q.Get("name")
		delete(at.q, "name")
		return at, at.name != ""
	case len(parts) == 1:
		return at, at.kind == "" || at.kind == "find"
	case len(parts) != 2:
		return at, false
	}
	name, err := url.PathUnescape(parts[1])
	at.name = name
	return at, err == nil && name != "" && (at.kind == "links" || at.kind == "sites")
}

// with is the address with parameters changed: names and values in turns. An empty value takes the parameter away.
func (p place) with(pairs ...string) string {
	q := url.Values{}
	for name, values := range p.q {
		if len(values) > 0 && values[0] != "" && name != "part" {
			q[name] = values[:1]
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if q.Del(pairs[i]); pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	path := "/"
	switch {
	case p.kind == "":
	case p.name == "." || p.name == "..": // browsers take these for folders, however they are written
		path += p.kind
		q.Set("name", p.name)
	default:
		path += p.kind + "/" + url.PathEscape(p.name)
	}
	return address(path, q)
}

// api is an address of the API about the same link or site; what comes after its name, and parameters in turns.
func (p place) api(rest string, pairs ...string) string {
	q := url.Values{}
	if share := p.q.Get("share"); share != "" {
		q.Set("share", share)
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return address("/v1/stats/"+p.kind+"/"+url.PathEscape(p.name)+rest, q)
}

// to is the page of another link or site.
func (p place) to(kind, name string) string {
	return place{kind: kind, name: name, q: url.Values{"share": p.q["share"]}}.with()
}

func address(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
