package intake

import (
	"net/http"
	"net/netip"
	"strings"

	"footfall/models"
	"footfall/producer/enrich"
)

// click reads a click as JSON, in the format of models/schema/click.v1.json, where v, id, ts, ip, country and bot may be
// left out, the country may be in small letters and the IP in any notation.
func click(raw []byte) (draft, error) {
	c, saysBot, err := models.TakeClick(raw)
	if err != nil {
		return draft{}, err
	}
	return draft{event: c, saysBot: saysBot}, nil
}

// fillClick adds to a click what its sender left to the door. Without an ip the sender is the visitor, and its request
// tells about it; with one the sender reports somebody else's click, and its own address, country and user agent must
// not be taken for the visitor's.
func (d *door) fillClick(c *models.Click, saysBot bool, r *http.Request) error {
	visitor := r
	var ip netip.Addr
	if c.IP == "" {
		ip = d.enrich.ClientIP(r)
		if c.UA == "" {
			c.UA = printable(r.UserAgent(), models.MaxUA)
		}
	} else {
		visitor = nil
		var err error
		if ip, err = parseIP(c.IP); err != nil {
			return err
		}
	}
	c.IP = d.enrich.VisitorIP(ip, c.TS.Time())
	if len(c.Country) == 2 { // in bytes: ToUpper makes ASCII of some other letters
		c.Country = strings.ToUpper(c.Country)
	}
	if c.Country == "" {
		if country := d.enrich.Country(ip, visitor); country != models.UnknownCountry { // which is what none is counted as
			c.Country = country
		}
	}
	if !saysBot {
		c.Bot = d.isBot(c.UA, visitor)
	}
	if len(c.Referrer) <= models.MaxReferrer { // else it is refused
		c.Referrer = enrich.Referrer(c.Referrer)
	}
	return nil
}

// isBot judges a visitor by its user agent, and by its request if it is its own. Nothing known is no bot.
func (d *door) isBot(ua string, visitor *http.Request) bool {
	if visitor == nil {
		return ua != "" && d.enrich.BotAgent(ua)
	}
	return enrich.Prefetch(visitor.Header) || d.enrich.BotAgent(ua)
}

// parseIP reads an address in any notation. A zone is the name of an interface on the sender's machine and no part of an
// address.
func parseIP(text string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return ip, &models.Invalid{Reason: "bad_ip", Detail: "want an IPv4 or IPv6 address, without a port"}
	case ip.Zone() != "":
		return ip, &models.Invalid{Reason: "bad_ip", Detail: "want an address without a zone"}
	}
	return ip.Unmap(), nil
}

// printable makes text of a header, which may hold any bytes, and cuts it to a length.
func printable(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
