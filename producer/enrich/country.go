package enrich

import (
	"net/http"
	"net/netip"

	"github.com/phuslu/iploc"

	"footfall/models"
)

// Country is the ISO 3166 code of an address, or models.UnknownCountry. It asks the header of a trusted proxy first, then the
// database in the binary, then the configured MaxMind file. r is nil if the address is not the sender's own, as in an event
// that a service reports.
//
// It takes the whole request, because the header is believed only if the peer is a trusted proxy.
func (e *Enricher) Country(ip netip.Addr, r *http.Request) string {
	if e.countryHeader != "" && r != nil && e.PeerTrusted(r) {
		if code := r.Header.Get(e.countryHeader); isCountry(code) {
			return code
		}
	}
	ip = plain(ip)
	if !ip.IsValid() {
		return models.UnknownCountry
	}
	if code := iploc.IPCountry(ip); isCountry(code) {
		return code
	}
	if e.file != nil {
		var code string
		if err := e.file.Lookup(ip).DecodePath(&code, "country", "iso_code"); err == nil && isCountry(code) {
			return code
		}
	}
	return models.UnknownCountry
}

// isCountry refuses two codes that are no country: XX (Cloudflare: unknown) and our own ZZ.
func isCountry(code string) bool {
	return len(code) == 2 && 'A' <= code[0] && code[0] <= 'Z' && 'A' <= code[1] && code[1] <= 'Z' &&
		code != "XX" && code != models.UnknownCountry
}
