// Package load makes traffic for the end-to-end tests and sends it to the producer: a seeded mixture of clicks and visits with everything
// that makes counting hard (returning visitors, ids sent twice, late events, bots, missing and odd values, months that end in the middle
// of a week), and a client that retries until every event is accepted.
package load

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"

	"footfall/models"
	"footfall/test/e2e/oracle"
)

// Event is one click or one visit, and how it is sent.
type Event struct {
	Click *models.Click // nil for a visit
	Visit *models.Visit // nil for a click
	Form  bool          // a visit sent as the form of the tracking script, whose timestamp is in seconds
	InURL bool          // of a form: the site is in the URL
	Names []string      // of a visit's features

	// IP and Country, if not empty, are the spelling that is sent; the event has the one that must be counted.
	IP, Country string
}

// ID is the id under which the event is sent, every time.
func (e Event) ID() string {
	if e.Click != nil {
		return e.Click.ID
	}
	return e.Visit.ID
}

// Tell lets the oracle count the event.
func (e Event) Tell(o *oracle.Oracle) {
	if e.Click != nil {
		o.Click(e.Click)
	} else {
		o.Visit(e.Visit)
	}
}

// Request is the HTTP request for the event. The body is not encoded by package models: a producer that understood only that encoding
// would go unnoticed.
func (e Event) Request() (path, contentType string, body []byte) {
	const asJSON = "application/json"
	switch {
	case e.Click != nil:
		return "/v1/clicks", asJSON, e.clickJSON()
	case e.Form:
		v := e.Visit
		form := url.Values{"id": {v.ID}, "guid": {v.GUID}, "timestamp": {strconv.FormatInt(int64(v.TS)/1000, 10)}}
		path = "/track"
		if e.InURL {
			path += "?siteId=" + url.QueryEscape(v.SiteID)
		} else {
			form.Set("siteId", v.SiteID)
		}
		for i, value := range v.Features {
			if value != "" {
				form.Set(e.Names[i], value)
			}
		}
		return path, "application/x-www-form-urlencoded", []byte(form.Encode())
	default:
		return "/v1/visits", asJSON, e.visitJSON()
	}
}

func (e Event) clickJSON() []byte {
	c := e.Click
	fields := map[string]any{"id": c.ID, "short_url": c.ShortURL, "ip": cmp.Or(e.IP, c.IP), "ts": int64(c.TS)}
	for name, value := range map[string]string{"country": cmp.Or(e.Country, c.Country), "referrer": c.Referrer, "ua": c.UA} {
		if value != "" {
			fields[name] = value
		}
	}
	if c.Amount != nil {
		fields["amount"] = *c.Amount
	}
	if c.Bot || c.UA != "" { // else the producer would decide by the user agent
		fields["bot"] = c.Bot
	}
	return encode(fields)
}

func (e Event) visitJSON() []byte {
	v := e.Visit
	fields := map[string]any{"id": v.ID, "siteId": v.SiteID, "guid": v.GUID, "ts": int64(v.TS)}
	for i, value := range v.Features {
		if value != "" {
			fields[e.Names[i]] = value
		}
	}
	return encode(fields)
}

func encode(fields map[string]any) []byte {
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // text and numbers always encode
	}
	return body
}
