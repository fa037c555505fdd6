package enrich

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHost is the longest name of a host in the DNS.
const maxHost = 253

// RefererHost reduces a referrer to its host, in lower case and without port: the rest of a URL may hold private data. It takes a
// URL or a host, and returns "" if there is no host.
func RefererHost(raw string) string {
	raw = strings.TrimSpace(raw)
	if raw == "" || !utf8.ValidString(raw) {
		return ""
	}
	bare := !strings.HasPrefix(raw, "//") && !absolute(raw)
	if bare {
		raw = "//" + raw // perhaps with a port or a path
	}
	u, err := url.Parse(raw)
	if err != nil || (bare && u.User != nil) { // mailto:somebody@host
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		if ip, err := netip.ParseAddr(host); err == nil {
			return plain(ip).String()
		}
		return ""
	}
	if len(host) > maxHost || strings.IndexFunc(host, notInHost) >= 0 {
		return ""
	}
	return host
}

// absolute tells whether a URL begins with its scheme. "://" may also be in the query.
func absolute(raw string) bool {
	scheme, _, found := strings.Cut(raw, "://")
	return found && !strings.ContainsAny(scheme, "/?#")
}

// Referrer is the name under which a reported referrer is counted: a bare name, such as news.example, as it was sent, and for
// anything else its RefererHost.
func Referrer(raw string) string {
	for i := range len(raw) {
		if notInName[raw[i]] {
			return RefererHost(raw)
		}
	}
	return raw
}

var notInName = [256]bool{'/': true, '\\': true, '?': true, '#': true, '@': true, ':': true, '%': true}

// notInHost allows letters of all scripts: browsers send such names in ASCII, but services report them as people write them.
func notInHost(r rune) bool {
	return r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}
