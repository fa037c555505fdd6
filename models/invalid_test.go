package models

import (
	"errors"
	"reflect"
	"slices"
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

// set sets a text field, by its name in messages.
func set(e Event, name, value string) Event {
	s := reflect.ValueOf(e).Elem()
	if feature := slices.Index(DefaultFeatures(), name); feature >= 0 {
		e.(*Visit).Features[feature] = value
	} else {
		plain := strings.ReplaceAll(name, "_", "")
		s.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, plain) }).SetString(value)
	}
	return e
}

// Validate checks every declared text.
func TestTextLimits(t *testing.T) {
	good := func() Event { return goodClick() }
	for i, f := range slices.Concat(ClickFields, DefaultPlan().Fields()) {
		if f.Type != "string" || f.Pattern != "" {
			continue
		}
		if i >= len(ClickFields) {
			good = func() Event { return goodVisit() }
		}
		reasons, limit := strings.ReplaceAll(f.Name, "siteId", "site_id"), int(f.Max)
		check := func(what, value, want string) {
			t.Helper()
			if got := reason(set(good(), f.Name, value).Validate()); got != want {
				t.Errorf("%s that is %s: %q, want %q", f.Name, what, got, want)
			}
		}
		missing := ""
		if f.Required {
			missing = "missing_" + reasons
		}
		tooLong := reasons + "_too_long"
		check("empty", "", missing)
		check("one byte", "x", "")
		check("at its limit", strings.Repeat("x", limit), "")
		check("over it by one", strings.Repeat("x", limit+1), tooLong)
		// the limit is in bytes: characters of two, three and four bytes
		check("at its limit, ending in è", strings.Repeat("x", limit-2)+"è", "")
		check("over it by one, ending in è", strings.Repeat("x", limit-1)+"è", tooLong)
		check("at its limit, ending in €", strings.Repeat("x", limit-3)+"€", "")
		check("over it by one, ending in €", strings.Repeat("x", limit-2)+"€", tooLong)
		check("at its limit in emoji", strings.Repeat("😀", limit/4), "")
		check("over its limit in emoji", strings.Repeat("😀", limit/4+1), tooLong)
		check("cut inside a character", "x\xc3", reasons+"_bad_utf8")
		check("a surrogate in UTF-8", "\xed\xa0\x80", reasons+"_bad_utf8")
		check("with NUL", "a\x00b", reasons+"_has_nul")
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
