package enrich

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
)

// VisitorIP is the name under which an address is counted and kept: itself, or its keyed hash, which is the same for the
// same address and key and tells nothing without the key. A person gets it with
//
//	printf %s 203.0.113.7 | openssl dgst -sha256 -hmac KEY
//
// It is "" for no address. Another key makes other visitors of everybody.
func (e *Enricher) VisitorIP(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	text := plain(ip).String()
	if e.hashKey == nil {
		return text
	}
	mac := hmac.New(sha256.New, e.hashKey)
	mac.Write([]byte(text)) // never fails
	return hex.EncodeToString(mac.Sum(nil))
}
