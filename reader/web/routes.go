package web

import (
	"context"
	"net/url"
	"strings"
	"time"

	"footfall/models"
	"footfall/reader/access"
	"footfall/reader/export"
	"footfall/reader/params"
	"footfall/reader/stats"
)

// Paths that are not questions.
const (
	healthPath  = "/healthz"
	openAPIPath = "/v1/openapi.yaml"
)

// route is a question that can be asked.
type route struct {
	path    string                                                            // as openapi.yaml has it
	params  []string                                                          // besides format and share
	filters bool                                                              // features of the plan are parameters as well
	lists   bool                                                              // it can be had as CSV and NDJSON
	about   *subject                                                          // whose counts it reads
	listed  bool                                                              // it lists all subjects, instead of reading one
	ask     func(s *Server, ctx context.Context, q question) (*answer, error) // nil: an export
}

// subject is a link or a site.
type subject struct {
	field string // of the name, in paths and answers
	most  int    // bytes of a name
	may   func(access.Holder, string) bool
	lists func(access.Holder) []models.NameRange // whose names may be listed
}

var (
	aLink = &subject{"short_url", models.MaxShortURL, access.Holder.Link, access.Holder.Links}
	aSite = &subject{"siteId", models.MaxSiteID, access.Holder.Site, access.Holder.Sites}
)

// question is what a request asks, once it is understood and allowed.
type question struct {
	params.Parsed
	name    string // of the link or site
	feature string // of a ranking or a list; else empty
	holder  access.Holder
	now     time.Time
	export  export.Format

	// What the route has of these.
	at     models.Millis // in the day or month
	by     stats.Unit
	within stats.Range // an end that is absent is open
	period stats.Period
	metric stats.Metric
	limit  int // 0: none
}

var routes = append(breakdowns(), []*route{
	{path: "/v1/stats/links", params: []string{"day"}, lists: true, about: aLink, listed: true, ask: (*Server).links},
	{path: "/v1/stats/links/{short_url}", about: aLink, ask: (*Server).link},
	{path: "/v1/stats/links/{short_url}/series", params: []string{"by", "from", "to", "fill"}, lists: true, about: aLink, ask: (*Server).linkSeries},
	{path: "/v1/stats/links/{short_url}/amounts", params: []string{"by", "from", "to"}, lists: true, about: aLink, ask: (*Server).amounts},
	{path: "/v1/stats/links/{short_url}/latest", params: []string{"day"}, lists: true, about: aLink, ask: (*Server).latest},
	{path: "/v1/stats/links/{short_url}/export", params: []string{"month"}, about: aLink},
	{path: "/v1/stats/sites", params: []string{"month"}, lists: true, about: aSite, listed: true, ask: (*Server).sites},
	{path: "/v1/stats/sites/{siteId}", params: []string{"period"}, filters: true, about: aSite, ask: (*Server).site},
	{path: "/v1/stats/sites/{siteId}/series", params: []string{"metric", "by", "from", "to", "fill"}, filters: true, lists: true, about: aSite, ask: (*Server).siteSeries},
	{path: "/v1/stats/sites/{siteId}/values/{feature}", params: []string{"month"}, lists: true, about: aSite, ask: (*Server).values},
	{path: "/v1/stats/sites/{siteId}/top/{feature}", params: []string{"period", "metric", "limit"}, filters: true, lists: true, about: aSite, ask: (*Server).top},
	{path: "/v1/stats/sites/{siteId}/export", params: []string{"month"}, about: aSite},
}...)

// breakdowns are the routes of all breakdowns that a plan can have.
func breakdowns() (routes []*route) {
	for _, by := range models.DefaultPlan().Breakdowns() { // all that there can be
		routes = append(routes, &route{path: "/v1/stats/links/{short_url}/" + by.Path, params: []string{"from", "to", "limit"}, lists: true, about: aLink, ask: breakdown(by)})
	}
	return routes
}

// findRoute finds the route of a path as it was sent, and the names in it. A path is cut at its slashes before anything is decoded, so that
// a name may have any character: %2F is a part of a name, and so are dots. Nothing is cleaned, nothing redirected.
func findRoute(escaped string) (found *route, names map[string]string) {
	sent := strings.Split(escaped, "/")
	for _, r := range routes {
		if names, ok := matchPath(strings.Split(r.path, "/"), sent); ok {
			return r, names
		}
	}
	return nil, nil
}

func matchPath(pattern, sent []string) (map[string]string, bool) {
	if len(pattern) != len(sent) {
		return nil, false
	}
	names := map[string]string{}
	for i, p := range pattern {
		name, variable := strings.CutPrefix(p, "{")
		if !variable {
			if p != sent[i] {
				return nil, false
			}
			continue
		}
		text, err := url.PathUnescape(sent[i])
		if err != nil {
			return nil, false // net/http refuses such a path itself
		}
		names[strings.TrimSuffix(name, "}")] = text
	}
	return names, true
}
