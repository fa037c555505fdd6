package models

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// reason is the Reason of an *Invalid, "" for nil, and another error's text.
func reason(err error) string {
	var invalid *Invalid
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid):
		return invalid.Reason
	}
	return "not an *Invalid: " + err.Error()
}

func goodClick() *Click {
	return &Click{V: Version, ID: "id", ShortURL: "abc", IP: "203.0.113.7", Country: "IT", TS: Earliest, Referrer: "r", UA: "u"}
}

func goodVisit() *Visit {
	return &Visit{V: Version, ID: "id", SiteID: "site1", GUID: "guid", TS: Earliest, Features: []string{"f", "g"}}
}

// field is one text field of an event, with a way to set it.
type field struct {
	name     string
	limit    int
	required bool
	with     func(string) Event
}

func click(set func(*Click, string)) func(string) Event {
	return func(s string) Event { c := goodClick(); set(c, s); return c }
}

func visit(set func(*Visit, string)) func(string) Event {
	return func(s string) Event { v := goodVisit(); set(v, s); return v }
}

var fields = []field{
	{"id", MaxID, true, click(func(c *Click, s string) { c.ID = s })},
	{"short_url", MaxShortURL, true, click(func(c *Click, s string) { c.ShortURL = s })},
	{"ip", MaxIP, true, click(func(c *Click, s string) { c.IP = s })},
	{"referrer", MaxReferrer, false, click(func(c *Click, s string) { c.Referrer = s })},
	{"ua", MaxUA, false, click(func(c *Click, s string) { c.UA = s })},
	{"id", MaxID, true, visit(func(v *Visit, s string) { v.ID = s })},
	{"site_id", MaxSiteID, true, visit(func(v *Visit, s string) { v.SiteID = s })},
	{"guid", MaxGUID, true, visit(func(v *Visit, s string) { v.GUID = s })},
	{"feature1", MaxFeature, false, visit(func(v *Visit, s string) { v.Features[0] = s })},
	{"feature2", MaxFeature, false, visit(func(v *Visit, s string) { v.Features[1] = s })},
}

func TestTextLimits(t *testing.T) {
	for _, f := range fields {
		check := func(what, value, want string) {
			t.Helper()
			if got := reason(f.with(value).Validate()); got != want {
				t.Errorf("%s that is %s: %q, want %q", f.name, what, got, want)
			}
		}
		missing := ""
		if f.required {
			missing = "missing_" + f.name
		}
		tooLong := f.name + "_too_long"
		check("empty", "", missing)
		check("one byte", "x", "")
		check("at its limit", strings.Repeat("x", f.limit), "")
		check("over it by one", strings.Repeat("x", f.limit+1), tooLong)
		// the limit is in bytes: characters of two, three and four bytes
		check("at its limit, ending in è", strings.Repeat("x", f.limit-2)+"è", "")
		check("over it by one, ending in è", strings.Repeat("x", f.limit-1)+"è", tooLong)
		check("at its limit, ending in €", strings.Repeat("x", f.limit-3)+"€", "")
		check("over it by one, ending in €", strings.Repeat("x", f.limit-2)+"€", tooLong)
		check("at its limit in emoji", strings.Repeat("😀", f.limit/4), "")
		check("over its limit in emoji", strings.Repeat("😀", f.limit/4+1), tooLong)
		check("cut inside a character", "x\xc3", f.name+"_bad_utf8")
		check("a surrogate in UTF-8", "\xed\xa0\x80", f.name+"_bad_utf8")
		check("with NUL", "a\x00b", f.name+"_has_nul")
		check("with other control characters", "a\tb\x01", "")
		check("the replacement character itself", "\ufffd", "")
	}
}

func TestVersionAndTimestampAreChecked(t *testing.T) {
	f := func(e Event, want string) {
		t.Helper()
		if got := reason(e.Validate()); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	for v, want := range map[int]string{0: ReasonMissingVersion, -1: ReasonUnknownVersion, Version: "", Version + 1: ReasonUnknownVersion} {
		c, w := goodClick(), goodVisit()
		c.V, w.V = v, v
		f(c, want)
		f(w, want)
	}
	for ts, want := range map[Millis]string{Absent: ReasonMissingTimestamp, Earliest - 1: ReasonBadTimestamp, Latest: "", Latest + 1: ReasonBadTimestamp} {
		c, w := goodClick(), goodVisit()
		c.TS, w.TS = ts, ts
		f(c, want)
		f(w, want)
	}
}

func TestCountry(t *testing.T) {
	f := func(code, want string) {
		t.Helper()
		c := goodClick()
		c.Country = code
		if got := reason(c.Validate()); got != want {
			t.Errorf("country %q: %q, want %q", code, got, want)
		}
	}
	for _, good := range []string{"", "IT", "ZZ", "AA"} {
		f(good, "")
	}
	for _, bad := range []string{"it", "I", "ITA", "I1", "I ", "è", "Ⅰ", "@A", "A["} {
		f(bad, "bad_country")
	}
}

func TestAmount(t *testing.T) {
	c := goodClick()
	for amount, want := range map[int64]string{
		0: "", 1: "", -1: "", MaxAmount: "", -MaxAmount: "", MaxAmount + 1: ReasonBadAmount, -MaxAmount - 1: ReasonBadAmount, -1 << 63: ReasonBadAmount,
	} {
		c.Amount = worth(amount)
		if got := reason(c.Validate()); got != want {
			t.Errorf("amount %d: %q, want %q", amount, got, want)
		}
	}
}

func TestInvalidError(t *testing.T) {
	if got := (&Invalid{Reason: "bad_ip"}).Error(); got != "bad_ip" {
		t.Error(got)
	}
	if got := (&Invalid{Reason: "bad_ip", Detail: "no address"}).Error(); got != "bad_ip: no address" {
		t.Error(got)
	}
}

// An excerpt never has more than MaxExcerpt bytes nor half a character, and short text stays as it is.
func TestExcerpt(t *testing.T) {
	for _, letter := range []string{"a", "è", "链", "👣"} {
		for n := range 300 {
			text := strings.Repeat(letter, n)
			got := Excerpt(text)
			if len(got) > MaxExcerpt || !utf8.ValidString(got) || !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) {
				t.Fatalf("%d × %s: %q", n, letter, got)
			}
			if len(text) <= MaxExcerpt && got != text || len(text) > MaxExcerpt && len(got) < MaxExcerpt-6 {
				t.Fatalf("%d × %s is cut to %d bytes", n, letter, len(got))
			}
		}
	}
	if got := Excerpt(strings.Repeat("\x80", 200)); len(got) > MaxExcerpt { // no text at all
		t.Errorf("%q", got)
	}
}
