package models

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendEvent appends the wire format of an event to dst: the bytes that json.Marshal makes, in one pass and without
// reflection.
func AppendEvent(dst []byte, event Event) ([]byte, error) {
	switch e := event.(type) {
	case *Click:
		return e.appendJSON(dst), nil
	case *Visit:
		if p := e.plan(); len(e.Features) == len(p.features) {
			return e.appendJSON(dst, p.features), nil
		}
	}
	text, err := json.Marshal(event) // for its error
	return append(dst, text...), err
}

func (c *Click) appendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"v":`...), int64(c.V), 10)
	dst = AppendText(append(dst, `,"id":`...), c.ID)
	dst = AppendText(append(dst, `,"short_url":`...), c.ShortURL)
	dst = AppendText(append(dst, `,"ip":`...), c.IP)
	if c.Country != "" {
		dst = AppendText(append(dst, `,"country":`...), c.Country)
	}
	dst = strconv.AppendInt(append(dst, `,"ts":`...), int64(c.TS), 10)
	if c.Referrer != "" {
		dst = AppendText(append(dst, `,"referrer":`...), c.Referrer)
	}
	if c.UA != "" {
		dst = AppendText(append(dst, `,"ua":`...), c.UA)
	}
	if c.Bot {
		dst = append(dst, `,"bot":true`...)
	}
	if c.Amount != nil {
		dst = strconv.AppendInt(append(dst, `,"amount":`...), *c.Amount, 10)
	}
	if c.Browser != "" {
		dst = AppendText(append(dst, `,"browser":`...), c.Browser)
	}
	if c.System != "" {
		dst = AppendText(append(dst, `,"system":`...), c.System)
	}
	if c.Device != "" {
		dst = AppendText(append(dst, `,"device":`...), c.Device)
	}
	return append(dst, '}')
}

// appendJSON takes the names of the features, which need no escapes.
func (v *Visit) appendJSON(dst []byte, names []string) []byte {
	dst = strconv.AppendInt(append(dst, `{"v":`...), int64(v.V), 10)
	dst = AppendText(append(dst, `,"id":`...), v.ID)
	dst = AppendText(append(dst, `,"siteId":`...), v.SiteID)
	dst = AppendText(append(dst, `,"guid":`...), v.GUID)
	dst = strconv.AppendInt(append(dst, `,"ts":`...), int64(v.TS), 10)
	for i, f := range v.Features {
		if f != "" {
			dst = append(append(append(dst, `,"`...), names[i]...), `":`...)
			dst = AppendText(dst, f)
		}
	}
	return append(dst, '}')
}

// unusual are the bytes that JSON may have to escape.
var unusual = func() (t [256]bool) {
	for c := range t {
		t[c] = c < ' ' || c >= utf8.RuneSelf
	}
	for _, c := range `"\\<>&` {
		t[c] = true
	}
	return t
}()

// AppendText appends a JSON string, as json.Marshal writes it. Texts that need escapes are few, and left to json.Marshal.
func AppendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if unusual[text[i]] {
			if !plainText(text[i:]) {
				return appendEscaped(dst, text)
			}
			break
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// plainText tells whether a text that is not all ASCII needs no escapes. encoding/json escapes U+2028 and U+2029, which old JavaScript did not
// accept, and replaces invalid UTF-8 by U+FFFD.
func plainText(text string) bool {
	for i := range len(text) {
		if text[i] < utf8.RuneSelf && unusual[text[i]] {
			return false
		}
	}
	return utf8.ValidString(text) && !strings.Contains(text, "\u2028") && !strings.Contains(text, "\u2029")
}

func appendEscaped(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text always encodes
	}
	return append(dst, quoted...)
}
