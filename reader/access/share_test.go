package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

func sign(t *testing.T, a *Access, s Share) string {
	t.Helper()
	text, err := a.Sign(s, now)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestShares(t *testing.T) {
	a := newAccess(t, configs.ReadAccess{ShareSecrets: []string{secret("a")}})
	for _, name := range []string{"shop", "shop*", "*", `sh"o<p>`, "a/b?c#d", "..", "\u202eshop", strings.Repeat("\x01", 128)} {
		site := sign(t, a, Share{Site: name, Until: now.Add(time.Hour)})
		h, err := a.Of("", site, now)
		if err != nil || !h.Site(name) || h.Site(name+"2") || h.Site("") || h.Link(name) || len(h.Sites()) > 0 || len(h.Links()) > 0 {
			t.Errorf("site %q: %+v, %v", name, h, err)
		}
		link := sign(t, a, Share{Link: name, Until: now.Add(time.Hour)})
		if h, err = a.Of("", link, now); err != nil || h.Site(name) || !h.Link(name) || h.Link("") || h.Link(strings.TrimSuffix(name, "*")+"2") || len(h.Links()) > 0 {
			t.Errorf("link %q: %+v, %v", name, h, err)
		}
		if len(site) > maxShare || site == link || strings.Trim(site, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
			t.Errorf("%q is no text for a URL", site)
		}
	}
}

func TestSharesEnd(t *testing.T) {
	a := newAccess(t, configs.ReadAccess{ShareSecrets: []string{secret("a")}})
	share := sign(t, a, Share{Link: "x", Until: now})
	for after, want := range map[time.Duration]string{-time.Hour: "", -time.Second: "", 0: ShareExpired, time.Second: ShareExpired, time.Hour: ShareExpired} {
		h, err := a.Of("", share, now.Add(after))
		if reason(t, err) != want || h.Link("x") != (want == "") {
			t.Errorf("%v after its end: %v, want %q", after, err, want)
		}
	}
}

func TestRotationRevokes(t *testing.T) {
	of := func(secrets ...string) *Access { return newAccess(t, configs.ReadAccess{ShareSecrets: secrets}) }
	before, both, after, none := of(secret("a")), of(secret("b"), secret("a")), of(secret("b")), of()
	fresh := sign(t, both, Share{Link: "x", Until: now.Add(time.Minute)})
	old := sign(t, before, Share{Link: "x", Until: now.Add(time.Minute)})
	f := func(a *Access, share, want string) {
		t.Helper()
		if _, err := a.Of("", share, now); reason(t, err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f(before, old, "")
	f(before, fresh, BadShare)
	f(both, old, "")
	f(both, fresh, "")
	f(after, old, BadShare)
	f(after, fresh, "")
	f(none, fresh, BadShare)
	if _, err := none.Sign(Share{Link: "x"}, now); err != ErrNoSecret { //nolint:errorlint // as it is documented
		t.Errorf("signing without a secret: %v", err)
	}
	for _, s := range []Share{{}, {Site: "a", Link: "b"}} {
		if _, err := both.Sign(s, now); err == nil {
			t.Errorf("%+v was signed", s)
		}
	}
}

// TestRevokedShares: one share link can be revoked, by its id; none lives longer than it may; those without an id are refused.
func TestRevokedShares(t *testing.T) {
	cfg := configs.ReadAccess{ShareSecrets: []string{secret("a")}}
	a := newAccess(t, cfg)
	one, two := sign(t, a, Share{Link: "x", Until: now.Add(48 * time.Hour)}), sign(t, a, Share{Link: "x", Until: now.Add(48 * time.Hour)})
	long := sign(t, a, Share{Link: "x", Until: now.Add(49 * time.Hour)})
	id, _, _ := strings.Cut(one, ".")
	cfg.ShareRevoked, cfg.ShareLongest = []string{"ANOTHER", id}, 48*time.Hour
	a = newAccess(t, cfg)
	text := `{"site":"","link":"x","until":9999999999}`
	mac := hmac.New(sha256.New, []byte(secret("a")))
	mac.Write([]byte("footfall share 1\n" + text))
	for share, want := range map[string]string{
		one: "revoked", long: "longer", encoding.EncodeToString([]byte(text)) + "." + encoding.EncodeToString(mac.Sum(nil)): "not signed",
	} {
		if h, err := a.Of("", share, now.Add(time.Hour)); reason(t, err) != BadShare || !strings.Contains(err.Error(), want) || h.Link("x") {
			t.Errorf("%s: %v, want it refused: %s", share, err, want)
		}
	}
	if h, err := a.Of("", two, now.Add(time.Hour)); err != nil || !h.Link("x") {
		t.Errorf("the other link: %v", err)
	}
	if _, err := a.Sign(Share{Link: "x", Until: now.Add(49 * time.Hour)}, now); err == nil || !strings.Contains(err.Error(), "access.share_longest") {
		t.Errorf("signing for longer: %v", err)
	}
	cfg.ShareRevoked = []string{two}
	if _, err := newAccess(t, cfg).Of("", two, now); reason(t, err) != BadShare {
		t.Errorf("with the whole share in the list: %v", err)
	}
}

// TestForgedShares: whatever is changed in a share, in any place, it is one no longer.
func TestForgedShares(t *testing.T) {
	a := newAccess(t, configs.ReadAccess{ShareSecrets: []string{secret("a")}})
	good := sign(t, a, Share{Site: "shop", Until: now.Add(time.Hour)})
	other := sign(t, a, Share{Site: "shop2", Until: now.Add(time.Hour)})
	dot := strings.LastIndexByte(good, '.')
	payload, sum := good[:dot], good[dot+1:]
	otherPayload := other[:strings.LastIndexByte(other, '.')]
	forged := []string{
		".", "..", payload, payload + ".", "." + sum, good + ".", good + "=", " " + good, good + "\n", otherPayload + "." + sum,
		strings.ToLower(good), payload + "." + sum[:len(sum)-2], strings.Repeat("A", 1<<20), payload + ".." + sum, good + good,
	}
	for i := range good {
		for _, c := range "A_" {
			if changed := good[:i] + string(c) + good[i+1:]; changed != good {
				forged = append(forged, changed)
			}
		}
	}
	for _, share := range forged {
		if h, err := a.Of("", share, now); reason(t, err) != BadShare || h.Site("shop") {
			t.Fatalf("%.60q: %v", share, err)
		}
	}
	// signed, but not by a version that this one understands
	for _, text := range []string{`{"site":"shop","link":"","until":9999999999,"only":"views"}`, `{"site":"","link":"","until":9999999999}`, `null`, ``, `[`} {
		share := "id." + encoding.EncodeToString([]byte(text)) + "." + encoding.EncodeToString(signature(a.secrets[0], "id", []byte(text)))
		if _, err := a.Of("", share, now); reason(t, err) != BadShare {
			t.Errorf("%s: %v", text, err)
		}
	}
	// what the standard library would also decode
	padded := base64.URLEncoding.EncodeToString([]byte("x"))
	if _, err := a.Of("", "id."+padded+"."+sum, now); reason(t, err) != BadShare {
		t.Error("padding was accepted")
	}
	// a key comes first: a wrong one is not made up for by a share
	if _, err := a.Of("wrong", good, now); reason(t, err) != WrongKey {
		t.Errorf("a wrong key beside a share: %v", err)
	}
}
