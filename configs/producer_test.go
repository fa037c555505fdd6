package configs

import (
	"reflect"
	"strings"
	"testing"
)

// TestSites: in a file and in the environment, with names as they are written. Viper would make small letters of the keys
// of a map and split them at dots, so sites are a list.
func TestSites(t *testing.T) {
	clean(t)
	want := []Site{
		{Site: "Shop.example", KeyHashes: []string{"aa", "bb"}, Origins: []string{"https://Shop.example"}},
		{Site: "*", Links: "*", KeyHashes: []string{"cc"}},
	}
	p, err := LoadProducer(write(t, `
access:
  sites:
  - site: Shop.example
    key_hashes: [aa, bb]
    origins: https://Shop.example
  - {site: "*", links: "*", key_hashes: [cc]}
`))
	if err != nil || !reflect.DeepEqual(p.Access.Sites, want) {
		t.Errorf("from a file: %+v, %v", p.Access.Sites, err)
	}
	t.Setenv("FOOTFALL_ACCESS_SITES", `[{"site":"Shop.example","key_hashes":["aa","bb"],"origins":["https://Shop.example"]},
		{"site":"*","links":"*","key_hashes":["cc"]}]`)
	t.Setenv("FOOTFALL_HTTP_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8")
	t.Setenv("FOOTFALL_LIMITS_CLIENT_PER_SECOND", "0.5")
	p, err = LoadProducer("")
	if err != nil || !reflect.DeepEqual(p.Access.Sites, want) {
		t.Errorf("from the environment: %+v, %v", p.Access.Sites, err)
	}
	if !reflect.DeepEqual(p.HTTP.TrustedProxies, []string{"10.0.0.0/8", "fd00::/8"}) || p.Limits.ClientPerSecond != 0.5 {
		t.Errorf("%v, %v", p.HTTP.TrustedProxies, p.Limits)
	}
	t.Setenv("FOOTFALL_HTTP_TRUSTED_PROXIES", "")
	if p, err = LoadProducer(""); err != nil || len(p.HTTP.TrustedProxies) != 0 {
		t.Errorf("an empty list: %q, %v", p.HTTP.TrustedProxies, err)
	}
}

func TestMistakesInSitesAreNamed(t *testing.T) {
	clean(t)
	for text, want := range map[string]string{
		"shop":                        "FOOTFALL_ACCESS_SITES is no list in JSON",
		`{"site":"shop"}`:             "FOOTFALL_ACCESS_SITES is no list in JSON",
		`[{"site":"shop","key":"x"}]`: "unknown field",
	} {
		t.Setenv("FOOTFALL_ACCESS_SITES", text)
		if _, err := LoadProducer(""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	clean(t)
	if _, err := LoadProducer(write(t, "access:\n  sites:\n  - {site: shop, key_hash: aa}\n")); err == nil || !strings.Contains(err.Error(), "key_hash") {
		t.Errorf("a misspelt key of a site: %v", err)
	}
}
