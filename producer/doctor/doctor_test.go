package doctor

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"math/big"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/internal/doctor"
)

func expect(t *testing.T, findings doctor.Findings, want string) {
	t.Helper()
	f := findings[0]
	if got := string(f.Severity) + " " + f.What; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if f.Severity != doctor.OK && f.Remedy == "" {
		t.Errorf("%q has no remedy", f.What)
	}
}

func TestJudgeKeys(t *testing.T) {
	entry := func(site, key string, origins ...string) configs.Site {
		sum := sha256.Sum256([]byte(key))
		return configs.Site{Site: site, KeyHashes: []string{strings.ToUpper(hex.EncodeToString(sum[:]))}, Origins: origins}
	}
	f := func(want string, sites ...configs.Site) {
		t.Helper()
		expect(t, judgeKeys(configs.Access{Sites: sites}), want)
	}
	const good, other = "f3b1c7a0", "77aa01fe"
	f("fault nobody may write")
	f("ok 2 keys may write", entry("shop", good), entry("blog", other))
	f(`fault the key of shop is "KEY", which anybody can guess`, entry("shop", "KEY"))
	f("warning shop and blog have the same key", entry("shop", good), entry("blog", good))
	f("ok 1 keys may write", entry("shop", good), entry("shop", good))
	maker := entry("shop", good, "https://shop.example")
	maker.CreateLinks, maker.Links = true, "*"
	f("warning the key of shop * is on pages, and may create links", maker)
	expect(t, judgeKeys(configs.Access{Open: true}), "warning anyone who reaches the producer may write")
}

func TestJudgeCertificate(t *testing.T) {
	now := time.Date(2026, 11, 17, 0, 0, 0, 0, time.UTC)
	cert := func(from, to time.Duration) *x509.Certificate {
		return &x509.Certificate{Raw: []byte{1}, SerialNumber: big.NewInt(1), NotBefore: now.Add(from), NotAfter: now.Add(to)}
	}
	f := func(want string, shown, file *x509.Certificate) {
		t.Helper()
		expect(t, judgeCertificate(shown, file, now), want)
	}
	good := cert(-time.Hour, 90*24*time.Hour)
	f("ok the certificate is valid until 2027-02-15", good, good)
	f("warning the certificate expires on 2026-11-30", cert(-time.Hour, 13*24*time.Hour+time.Hour), good)
	f("fault the certificate has expired, on 2026-11-16", cert(-48*time.Hour, -time.Hour), good)
	f("fault the certificate is valid from 2026-11-18 on", cert(24*time.Hour, 48*time.Hour), good)
	f("warning the producer shows another certificate", &x509.Certificate{Raw: []byte{2}, NotAfter: good.NotAfter}, good)
}
