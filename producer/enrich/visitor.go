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
		bits := 48
		if ip.Is4() {
			bits = 24
		}
		ip = first(ip, bits)
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

// first is the first address of the network of so many bits, which the address has, that it is in.
func first(ip netip.Addr, bits int) netip.Addr {
	prefix, _ := ip.Prefix(bits)
	return prefix.Addr()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}
