package links

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostOf is a URL's host in the one notation that browsers resolve it to, however it is written (WHATWG URL, host parsing). http
// and https count as the same host.
func hostOf(u *url.URL) string {
	host := plainHost(u.Hostname())
	if port, err := strconv.Atoi(u.Port()); err == nil && port != 80 && port != 443 {
		return host + ":" + strconv.Itoa(port)
	}
	return host
}

// host is hostOf for a text; it is empty if the text is no URL.
func host(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return hostOf(u)
}

// names maps host names as browsers do: letters that look like ASCII become ASCII, invisible ones are dropped, and others are
// encoded as punycode. Browsers refuse what is no name in the DNS.
var names = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.VerifyDNSLength(false))

func plainHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		return ip.Unmap().WithZone("").String() // a mapped address reaches the same server
	}
	if ascii, err := names.ToASCII(host); err == nil {
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, ok := parseIPv4(host); ok {
		return ip.String()
	}
	return host
}

// parseIPv4 parses an address of one to four numbers in decimal, octal (0177) or hexadecimal (0x7f). The last number stands for
// all remaining bytes.
func parseIPv4(text string) (ip netip.Addr, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return ip, false
	}
	var value uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		most := uint64(0xff)
		if i == len(parts)-1 {
			most = 1<<(8*(5-len(parts))) - 1
		}
		if !ok || n > most {
			return ip, false
		}
		if i == len(parts)-1 {
			value += n
		} else {
			value += n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func parseNumber(text string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(text, "0x"):
		if text = text[2:]; text == "" {
			return 0, true
		}
		base = 16
	case len(text) > 1 && text[0] == '0':
		text, base = text[1:], 8
	}
	n, err := strconv.ParseUint(text, base, 64)
	return n, err == nil
}
