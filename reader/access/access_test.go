package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

var now = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func hash(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }

func secret(c string) string { return strings.Repeat(c, minSecret) }

func newAccess(t *testing.T, cfg configs.ReadAccess) *Access {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// reason is why somebody is denied; empty if they are not.
func reason(t *testing.T, err error) string {
	t.Helper()
	var denied *Denied
	if err != nil && !errors.As(err, &denied) {
		t.Fatalf("%v is no Denied", err)
	}
	if denied == nil {
		return ""
	}
	return denied.Reason
}

func TestKeys(t *testing.T) {
	a := newAccess(t, configs.ReadAccess{Readers: []configs.ReadGrant{
		{Site: "shop*", KeyHashes: []string{hash("shops"), hash("both")}},
		{Links: "promo", KeyHashes: []string{strings.ToUpper(hash("promo")), hash("both")}},
		{Site: "*", Links: "*", KeyHashes: []string{hash("all")}},
	}})
	f := func(key, want string, site, link string, maySite, mayLink, sites, links bool) {
		t.Helper()
		h, err := a.Of(key, "", now)
		if reason(t, err) != want || h.Site(site) != maySite || h.Link(link) != mayLink || len(h.Sites()) > 0 != sites || len(h.Links()) > 0 != links {
			t.Errorf("%q: %v, site %s %v, link %s %v, lists %v %v", key, err, site, h.Site(site), link, h.Link(link), len(h.Sites()) > 0, len(h.Links()) > 0)
		}
	}
	f("shops", "", "shop1", "promo", true, false, true, false)
	f("shops", "", "sho", "shop1", false, false, true, false)
	f("both", "", "shop", "promo", true, true, true, true)
	f("promo", "", "promo", "promo", false, true, false, true)
	f("promo", "", "promo", "promo2", false, false, false, true)
	f("all", "", "anything", "", true, true, true, true)
	f("", MissingKey, "shop", "promo", false, false, false, false)
	f("other", WrongKey, "shop", "promo", false, false, false, false)
	f(hash("shops"), WrongKey, "shop", "promo", false, false, false, false)
}

// TestSees: pages are shared by it, so nobody who may read something else has the same text, whatever names are made of.
func TestSees(t *testing.T) {
	a := newAccess(t, configs.ReadAccess{Readers: []configs.ReadGrant{
		{Site: "s", KeyHashes: []string{hash("site"), hash("same"), hash("both")}},
		{Links: "s", KeyHashes: []string{hash("link"), hash("both")}},
		{Site: `s" "`, KeyHashes: []string{hash("quotes")}},
	}})
	seen := map[string]string{Holder{all: true}.Sees(): "open", Holder{exactSite: "s"}.Sees(): "share of a site", Holder{exactLink: "s"}.Sees(): "share of a link"}
	for _, key := range []string{"site", "link", "both", "quotes"} {
		h, err := a.Of(key, "", now)
		if other := seen[h.Sees()]; other != "" || err != nil {
			t.Errorf("%s is taken for %s: %q, %v", key, other, h.Sees(), err)
		}
		seen[h.Sees()] = key
	}
	if h, err := a.Of("same", "", now); seen[h.Sees()] != "site" || len(seen) != 7 || err != nil {
		t.Errorf("%q, %v: want the text of the other key to the same site; %q", h.Sees(), err, seen)
	}
}

func TestOpen(t *testing.T) {
	a := newAccess(t, configs.ReadAccess{Open: true})
	if h, err := a.Of("", "", now); err != nil || !h.Site("x") || !h.Link("x") || len(h.Links()) == 0 || len(h.Sites()) == 0 || !a.Open() || a.Empty() {
		t.Errorf("%+v, %v", h, err)
	}
	if closed := newAccess(t, configs.ReadAccess{}); !closed.Empty() || closed.Open() {
		t.Error("nobody may read unless somebody is let in")
	}
	var nobody Holder
	if nobody.Site("") || nobody.Link("") || nobody.Site("x") || len(nobody.Sites()) > 0 || len(nobody.Links()) > 0 {
		t.Error("the zero holder may read")
	}
}

// TestAll: whoever may read all sites and all links, by one entry or by several.
func TestAll(t *testing.T) {
	entry := func(site, links string) configs.ReadGrant {
		return configs.ReadGrant{Site: site, Links: links, KeyHashes: []string{hash("a")}}
	}
	f := func(want bool, readers ...configs.ReadGrant) {
		t.Helper()
		if h, err := newAccess(t, configs.ReadAccess{Readers: readers}).Of("a", "", now); err != nil || h.All() != want {
			t.Errorf("%+v: %v, %v", readers, h.All(), err)
		}
	}
	f(true, entry("*", "*"))
	f(true, entry("*", ""), entry("", "*"))
	f(false, entry("*", ""))
	f(false, entry("", "*"))
	f(false, entry("*", "promo*"))
	if h, err := newAccess(t, configs.ReadAccess{Open: true}).Of("", "", now); err != nil || !h.All() || (Holder{}).All() {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestMistakes(t *testing.T) {
	f := func(cfg configs.ReadAccess, want string) {
		t.Helper()
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want an error with %q", cfg, err, want)
		}
	}
	entry := func(g configs.ReadGrant) configs.ReadAccess {
		return configs.ReadAccess{Readers: []configs.ReadGrant{g}}
	}
	f(configs.ReadAccess{Open: true, Readers: []configs.ReadGrant{{Site: "a", KeyHashes: []string{hash("a")}}}}, "access.open")
	f(entry(configs.ReadGrant{KeyHashes: []string{hash("a")}}), "neither a site nor links")
	f(entry(configs.ReadGrant{Site: "a"}), "no key_hashes")
	f(entry(configs.ReadGrant{Site: "a", KeyHashes: []string{"ab"}}), "64 hex digits")
	f(entry(configs.ReadGrant{Site: "a", KeyHashes: []string{strings.Repeat("x", 64)}}), "64 hex digits")
	f(entry(configs.ReadGrant{Site: "a", KeyHashes: []string{hash("a") + "ab"}}), "64 hex digits")
	f(configs.ReadAccess{ShareSecrets: []string{"short"}}, "access.share_secrets")
	f(configs.ReadAccess{ShareSecrets: []string{secret("a"), ""}}, "number 2 has 0 bytes")
}

// TestRanges: names are listed by ranges that have exactly those that may be read, each once.
func TestRanges(t *testing.T) {
	entry := func(site string) configs.ReadGrant {
		return configs.ReadGrant{Site: site, KeyHashes: []string{hash("k")}}
	}
	f := func(want int, sites ...string) {
		t.Helper()
		var cfg configs.ReadAccess
		for _, site := range sites {
			cfg.Readers = append(cfg.Readers, entry(site))
		}
		h, err := newAccess(t, cfg).Of("k", "", now)
		if err != nil || len(h.Sites()) != want || len(h.Links()) != 0 {
			t.Errorf("%q: sites %q, links %q, %v; want %d ranges", sites, h.Sites(), h.Links(), err, want)
		}
		for _, name := range []string{"a", "shop", "shop1", "shop12", "shoq", "shop\U0010FFFF", "sho", "z", "è", "shop" + strings.Repeat("\U0010FFFF", 31)} {
			in := 0
			for _, r := range h.Sites() {
				if r.Has(name) {
					in++
				}
			}
			if may := h.Site(name); in > 1 || (in == 1) != may {
				t.Errorf("%q: %q is in %d ranges, and may be read: %v", sites, name, in, may)
			}
		}
	}
	f(1, "*")
	f(1, "shop*")
	f(1, "shop1")
	f(1, "shop1", "shop*", "shop*", "shop12*")
	f(3, "z", "shop1", "a*")
	f(1, "*", "shop")
	share := Holder{exactSite: "s"}
	if len(share.Sites())+len(share.Links())+len(Holder{}.Sites()) > 0 {
		t.Error("the holder of a share link lists names")
	}
}
