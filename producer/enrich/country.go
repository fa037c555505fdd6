package enrich

import (
	"net/http"
	"net/netip"

	"github.com/phuslu/iploc"

	"footfall/models"
)

// Country is the ISO 3166 code of where an address is, models.UnknownCountry if nobody knows. A trusted proxy's header
// comes first; r may be nil where the address is not the sender's own, such as in an event that a service reports. Then
// comes the database in the binary, then, for what that does not know, the configured MaxMind file.
//
// It takes the request and not its header alone, because without the peer nobody can tell whether to believe the header.
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

// isCountry leaves out what is no country though it has the form of one: XX (Cloudflare: unknown) and our own ZZ.
func isCountry(code string) bool {
	return len(code) == 2 && 'A' <= code[0] && code[0] <= 'Z' && 'A' <= code[1] && code[1] <= 'Z' &&
		code != "XX" && code != models.UnknownCountry
}
