package admission

import (
	"strings"
	"testing"
)

func TestOriginsAreWhatBrowsersSend(t *testing.T) {
	for text, want := range map[string]string{
		"https://Shop.example:443/": "https://shop.example", "http://shop.example:80": "http://shop.example", "https://shop.example:": "https://shop.example",
		"https://shop.example:80": "https://shop.example:80", "http://[::1]:80": "http://[::1]", "http://[::1]:3000": "http://[::1]:3000", "*": "*",
	} {
		if got, err := parseOrigin(text); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %s", text, got, err, want)
		}
	}
	for origin, want := range map[string]string{
		"ftp://shop.example": "is no origin of a page", "chrome-extension://abc": "is no origin of a page",
		"https://*.shop.example": "matches nothing", "https://*": "matches nothing", "https://bücher.example": "xn--",
	} {
		if got, err := parseOrigin(origin); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %q, %v, want an error about %s", origin, got, err, want)
		}
	}
}
