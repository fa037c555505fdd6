package enrich

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientIP is the address of the client: the peer, or, if the peer is a trusted proxy, the last address in X-Forwarded-For that is
// not a trusted proxy. The list is read from the right: each proxy appends its peer, and everything further left was sent by the
// client, who may write anything. An entry that is no address ends the search.
//
// The result is unmapped and has no zone. It is the zero Addr if the peer has no IP address (a unix socket).
func (e *Enricher) ClientIP(r *http.Request) netip.Addr {
	ip := peer(r)
	if !e.Trusts(ip) {
		return ip
	}
	lines := r.Header.Values("X-Forwarded-For") // several lines are one list
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			var last string
			rest, last, more = cutLast(rest)
			next, ok := parseHop(last)
			if !ok {
				return ip
			}
			if ip = next; !e.Trusts(ip) {
				return ip
			}
		}
	}
	return ip
}

// PeerTrusted tells whether the peer of the request is a trusted proxy.
func (e *Enricher) PeerTrusted(r *http.Request) bool { return e.Trusts(peer(r)) }

// Trusts tells whether an address, unmapped and without a zone, is a trusted proxy.
func (e *Enricher) Trusts(ip netip.Addr) bool {
	return slices.ContainsFunc(e.trusted, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// peer is the address at the other end of the connection.
func peer(r *http.Request) netip.Addr {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plain(address.Addr())
}

// cutLast splits off what follows the last comma.
func cutLast(list string) (rest, last string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return "", list, false
	}
	return list[:i], list[i+1:], true
}

// parseHop reads one entry of X-Forwarded-For: an address, which some proxies write with a port or in brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if ip, err := netip.ParseAddr(text); err == nil {
		return plain(ip), true
	}
	if address, err := netip.ParseAddrPort(text); err == nil {
		return plain(address.Addr()), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			if ip, err := netip.ParseAddr(inner); err == nil && ip.Is6() {
				return plain(ip), true
			}
		}
	}
	return netip.Addr{}, false
}

// plain is the form of an address that identifies a visitor: unmapped, and without a zone, which names an interface of a machine.
func plain(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }
