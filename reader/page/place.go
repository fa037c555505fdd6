package page

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/params"
	"footfall/reader/stats"
)

// place is a page's address.
type place struct {
	kind     string // "links", "sites"; empty: the first page
	name     string // of the link or site
	q        url.Values
	features map[string]string // what a site's page is filtered by
}

var errNoPage = errors.New("there is no such page")

// known are the parameters of each kind of page, besides share.
var known = map[string][]string{
	"":      {"part"},
	"find":  {"q", "kind"},
	"links": {"range", "from", "last", "by", "compare", "show", "part"},
	"sites": {"period", "metric", "from", "last", "by", "compare", "show", "part"},
}

// parsePlace reads an address. Its path is cut before it is decoded, so that a name may have any character. The error is errNoPage, or says
// what is wrong with the name or the parameters; the kind and the name are there then as well.
func parsePlace(u *url.URL, features []string) (at place, err error) {
	share := u.Query().Get("share")
	at.q = url.Values{"share": {share}}
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	at.kind = parts[0]
	allowed, ok := known[at.kind]
	allowed = append(slices.Clone(allowed), "share")
	switch named := at.kind == "links" || at.kind == "sites"; {
	case at.kind == "assets" && len(parts) == 2:
		at.name = parts[1]
		return at, nil
	case len(parts) == 1 && named: // a name that browsers take for a folder
		at.name = u.Query().Get("name")
		allowed = append(allowed, "name")
		ok = at.name != ""
	case len(parts) == 2 && named:
		at.name, err = url.PathUnescape(parts[1])
		ok = err == nil && at.name != ""
	case len(parts) > 1:
		ok = false
	}
	if !ok {
		return at, errNoPage
	}
	if err := at.checkName(); err != nil {
		return at, err
	}
	if at.kind != "sites" {
		features = nil
	}
	return at, at.parse(u.RawQuery, allowed, features)
}

// checkName refuses a name that no event can have had.
func (p place) checkName() error {
	switch p.kind {
	case "links":
		return params.CheckName("short_url", p.name, models.MaxShortURL)
	case "sites":
		return params.CheckName("siteId", p.name, models.MaxSiteID)
	}
	return nil
}

// parse reads parameters. Each is kept under one spelling.
func (p *place) parse(raw string, allowed, features []string) error {
	v, err := params.Parse(raw, allowed, features)
	if err != nil {
		return err
	}
	for name, value := range v.Values {
		if name != "name" && value != "" {
			p.q.Set(name, value)
		}
	}
	for name, value := range v.Features {
		p.q.Set(featureParam(name), value)
	}
	p.features = v.Features
	return p.check(features)
}

// isRange tells whether the address has a range that somebody typed.
func (p place) isRange() bool { return p.q.Has("from") || p.q.Has("last") || p.q.Has("by") }

// check refuses what is none of a parameter's values. show is a breakdown of a link, or a feature of the site.
func (p place) check(features []string) error {
	closed := map[string][]string{"part": {"live"}, "compare": {"off"}, "kind": {"link", "site"}, "show": features}
	if p.kind == "links" {
		closed["show"] = nil
		for _, by := range models.DefaultPlan().Breakdowns() { // all that there can be
			closed["show"] = append(closed["show"], by.Path)
		}
	}
	for name, values := range closed {
		if !slices.Contains(known[p.kind], name) {
			continue // a feature may be called so
		}
		if value := p.q.Get(name); value != "" && !slices.Contains(values, value) {
			return &stats.Malformed{Field: name, Detail: "want " + strings.Join(values, " or ")}
		}
	}
	return nil
}

// reserved are the parameters of a site's page, and of the API about a site, that are no feature.
var reserved = slices.Concat(known["sites"], []string{"share", "name", "to", "format", "limit", "fill", "month"})

// featureParam is the parameter of a feature, in the API and here: its name, with a prefix if that is another parameter's.
func featureParam(name string) string {
	if slices.Contains(reserved, name) {
		return params.FeaturePrefix + name
	}
	return name
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

// exports are the downloads of a month.
type exports struct {
	Month   string
	Formats []choice
}

// exports are those of the month that is shown last.
func (p place) exports(w window, now models.Millis) exports {
	month := stats.PeriodOf(stats.Month, min(w.within.To-1, now))
	out := exports{Month: periodWords(month)}
	for _, format := range export.Formats {
		out.Formats = append(out.Formats, choice{Label: string(format), Href: p.api("/export", "month", month.String(), "format", string(format))})
	}
	return out
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
