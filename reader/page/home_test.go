package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats/statstest"
)

// holder may see the site or link of a share link, or list sites or links.
type holder struct {
	site, link   string // of a share link
	sites, links bool   // may list
}

func (h holder) Site(name string) bool       { return h.sites || name == h.site }
func (h holder) Link(name string) bool       { return h.links || name == h.link }
func (h holder) Sites() []models.NameRange   { return everyIf(h.sites) }
func (h holder) Links() []models.NameRange   { return everyIf(h.links) }
func (h holder) All() bool                   { return h.sites && h.links }
func (h holder) Shares() (site, link string) { return h.site, h.link }
func (h holder) Sees() string                { return fmt.Sprint(h.site, h.link, h.sites, h.links) }

func everyIf(may bool) (all []models.NameRange) {
	if may {
		all = append(all, models.NamesWith(""))
	}
	return all
}

// TestTheFirstPageOfThoseWhoMayNotListEverything: it says nothing about what they may not list, and never that nothing was counted.
func TestTheFirstPageOfThoseWhoMayNotListEverything(t *testing.T) {
	full, none := shared(t), statstest.NewMemory(models.DefaultPlan())
	f := func(m *statstest.Memory, may holder, wants []string, never ...string) {
		t.Helper()
		h := newHandler(reader(m), Options{Now: func() time.Time { return today }, Allow: func(*http.Request) (May, *Denied) { return may, nil }})
		answer, text := get(t, h, "/?share=x")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%+v: %d, no %q: %s", may, answer.StatusCode, want, text)
			}
		}
		for _, wrong := range append(never, "Nothing counted today", "curl", "not known yet", "No link was clicked", "No site was visited") {
			if strings.Contains(text, wrong) {
				t.Errorf("%+v: %q: %s", may, wrong, text)
			}
		}
	}
	const links, sites, reach = "Busiest links", "Busiest sites", "Counted up to"
	f(full, holder{site: "shop.example"}, []string{"This share link is for the site", `href="/sites/shop.example?share=x"`}, links, sites, "counting", "data-live")
	f(full, holder{link: "autumn-sale"}, []string{"This share link is for the link", `href="/links/autumn-sale?share=x"`}, links, sites, "counting", "data-live")
	f(full, holder{sites: true}, []string{sites, "shop.example", reach}, links)
	f(full, holder{links: true}, []string{links, "autumn-sale", reach}, sites)
	f(none, holder{sites: true}, []string{sites, "No site that you may see was visited this month yet."}, links)
	f(none, holder{links: true}, []string{links, "No link that you may see was clicked today (UTC) yet."}, sites)
}
