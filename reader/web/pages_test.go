package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/models"
	"footfall/reader/access"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

func TestPages(t *testing.T) {
	m := statstest.NewMemory(models.DefaultPlan())
	at := models.Millis(now.UnixMilli())
	m.Add(&models.Click{V: 1, ID: "1", ShortURL: "promo", IP: "1", TS: at}, &models.Click{V: 1, ID: "2", ShortURL: "secret", IP: "1", TS: at})
	from := stats.New(m, "clicks", "visits")
	f := func(s *Server, path, want, never string, status int, headers ...string) {
		t.Helper()
		w := get(s, path, headers...)
		text := w.Body.String()
		if w.Code != status || !strings.Contains(text, want) || (never != "" && strings.Contains(text, never)) {
			t.Errorf("%s: %d %s", path, w.Code, text)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "sandbox") {
			t.Errorf("%s: %s", path, csp)
		}
	}
	s := newServer(t, from, open, nil)
	f(s, "/", "promo", "", http.StatusOK)
	f(s, "/links/promo", "Clicks by day", "", http.StatusOK)
	f(s, "/links/promo/more", "no such page", "", http.StatusNotFound)
	if w := get(s, "/v2"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "not_found") {
		t.Errorf("what is no page is refused as before: %d %s", w.Code, w.Body)
	}
	if w := get(s, "/v1/stats/links/promo"); w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d %v", w.Code, w.Header())
	}

	closed := newServer(t, from, configs.ReadAccess{Readers: []configs.ReadGrant{{Links: "promo", KeyHashes: []string{fmt.Sprintf("%x", sha256.Sum256([]byte("key")))}}}}, nil)
	f(closed, "/", "Read key", "promo", http.StatusUnauthorized)
	f(closed, "/", "promo", "secret", http.StatusOK, "Authorization: Bearer key")
	f(closed, "/links/promo", "Clicks by day", "", http.StatusOK, "Authorization: Bearer key")
	f(closed, "/links/secret", "not for this link", "Clicks by day", http.StatusForbidden, "Authorization: Bearer key")

	busy := newServer(t, from, open, nil)
	for busy.places.Take("192.0.2.1/32", 1) { // that of httptest
	}
	if w := get(busy, "/"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d while as many questions as may be are answered", w.Code)
	}
	local := newServer(t, from, open, func(c *Config) { c.Hosts = []string{"stats.example"} })
	if w := get(local, "/"); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("%d for another host", w.Code)
	}
}

// TestASharedPage: a share link leads to its page, and to no other.
func TestASharedPage(t *testing.T) {
	s := newServer(t, stats.New(statstest.NewMemory(models.DefaultPlan()), "clicks", "visits"), guardedAccess, nil)
	signed, err := s.cfg.Access.Sign(access.Share{Link: "promo", Until: now.Add(time.Minute)}, now)
	if err != nil {
		t.Fatal(err)
	}
	for path, allowed := range map[string]bool{"/links/promo": true, "/links/promo2": false, "/sites/promo": false} {
		if w := get(s, path+"?share="+signed); (w.Code == 200) != allowed {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := get(s, "/links/promo"); w.Code == 200 {
		t.Error("without it, too")
	}
}
