package enrich

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"time"

	"footfall/models"
)

// VisitorIP is the name under which the address of an event of that time is counted and kept: itself (of an IPv6 address its network, as
// IPv6Prefix says), its wider network, or its keyed hash, which is the same for the same address and key and tells nothing without the key. A person gets it with
//
//	printf %s 203.0.113.7 | openssl dgst -sha256 -hmac KEY
//
// It is "" for no address. Another key makes other visitors of everybody. With Rotate the key of a month or day is used, which is made
// of the key and the UTC period, and the name is 2026-11: and the first 48 digits of
//
//	printf %s 2026-11 | openssl dgst -sha256 -hmac KEY                                        # PERIODKEY
//	printf %s 203.0.113.7 | openssl dgst -sha256 -mac HMAC -macopt hexkey:PERIODKEY
//
// It is the event's time that decides and not the clock: an event that is sent again is the same visitor's.
func (e *Enricher) VisitorIP(ip netip.Addr, at time.Time) string {
	if !ip.IsValid() {
		return ""
	}
	ip = plain(ip)
	if ip.Is6() && !ip.IsLinkLocalUnicast() && !ip.IsLoopback() { // which are not routed: all of a link is fe80::/64
		ip = first(ip, e.prefix)
	}
	if e.truncate {
		ip = network(ip)
	}
	if e.hashKey == nil {
		return ip.String()
	}
	if e.period == "" {
		return hex.EncodeToString(mac(e.hashKey, ip.String()))
	}
	period := at.UTC().Format(e.period)
	return models.PeriodName(period, mac(mac(e.hashKey, period), ip.String()))
}

// network is the first address of the IPv4 /24 or the IPv6 /48 that an address is in.
func network(ip netip.Addr) netip.Addr {
	if ip.Is4() {
		return first(ip, 24)
	}
	return first(ip, 48)
}

// first is the first address of the network of so many bits that an address is in.
func first(ip netip.Addr, bits int) netip.Addr {
	prefix, err := ip.Prefix(bits)
	if err != nil { // no address is shorter
		return ip
	}
	return prefix.Addr()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}
