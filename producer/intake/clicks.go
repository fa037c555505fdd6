package intake

import (
	"net/http"
	"net/netip"
	"strings"

	"footfall/models"
)

// click is POST /v1/clicks: one click as JSON, in the format of models/schema/click.v1.json, where v, id and ts may be
// left out, the country may be in small letters and the IP in any notation.
func click(_ *http.Request, body []byte) (models.Event, error) {
	c, err := models.UnmarshalClick(body, true)
	if err != nil {
		return nil, err
	}
	if err := complete(&c.V, &c.TS, &c.ID); err != nil {
		return nil, err
	}
	if len(c.Country) == 2 { // in bytes: ToUpper makes ASCII of some other letters
		c.Country = strings.ToUpper(c.Country)
	}
	if c.IP != "" {
		if c.IP, err = canonicalIP(c.IP); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// canonicalIP writes an address in the one form that counts as one visitor: RFC 5952, and IPv4 as IPv4 even if it came
// mapped into IPv6. A zone is the name of an interface on the sender's machine and no part of an address.
func canonicalIP(text string) (string, error) {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return "", &models.Invalid{Reason: "bad_ip", Detail: "want an IPv4 or IPv6 address, without a port"}
	case ip.Zone() != "":
		return "", &models.Invalid{Reason: "bad_ip", Detail: "want an address without a zone"}
	}
	return ip.Unmap().String(), nil
}
