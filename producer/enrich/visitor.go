package enrich

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"time"

	"footfall/models"
)

// VisitorIP is the name under which the address of an event is counted and kept, by the event's time: the address itself (of IPv6
// its network of IPv6Prefix bits), its wider network (TruncateIP), or its keyed hash (HashIP), which tells nothing without the
// key. This computes the hash on a command line:
//
//	printf %s 203.0.113.7 | openssl dgst -sha256 -hmac KEY
//
// It is "" for no address. Another key makes everybody a new visitor. With Rotate each month or day has its own key, made of the
// key and the UTC period, and the name is the period, a colon, and the first 48 digits of
//
//	printf %s 2026-11 | openssl dgst -sha256 -hmac KEY                                        # PERIODKEY
//	printf %s 203.0.113.7 | openssl dgst -sha256 -mac HMAC -macopt hexkey:PERIODKEY
//
// The event's time decides, not the clock: an event that is sent again has the same visitor.
func (e *Enricher) VisitorIP(ip netip.Addr, at time.Time) string {
	if !ip.IsValid() {
		return ""
	}
	ip = plain(ip)
	if ip.Is6() && !ip.IsLinkLocalUnicast() && !ip.IsLoopback() { // not routed: a whole network segment is fe80::/64
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
