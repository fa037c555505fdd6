// Package params reads the parameters of a request, by the same rules for the API and for the pages (accept.go: its headers): each parameter once, none that is
// not known, and no name that an event cannot have had. A filter that is misspelt must not be ignored: the answer would be a number of
// something else. It is pure.
package params

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"footfall/models"
)

// FeaturePrefix may stand before the name of a feature, for one that is called as another parameter is.
const FeaturePrefix = "feature."

// Reasons of what is wrong, besides those that name a field: missing_page, page_too_long, page_bad_utf8, page_has_nul. They are part of the
// API, so they never change.
const (
	BadQuery          = "bad_query"
	UnknownParameter  = "unknown_parameter"
	RepeatedParameter = "repeated_parameter"
)

// Wrong says what is wrong with a request.
type Wrong struct {
	Reason string // for machines
	Detail string // for people; it repeats no more than an excerpt of what was sent
}

func (w *Wrong) Error() string { return w.Reason + ": " + w.Detail }

// Parsed are the parameters of a request.
type Parsed struct {
	Values   map[string]string
	Features map[string]string // filters by feature; nil if there are none
}

// Parse reads parameters. known are the route's; features are those that may be filtered by. Errors are *Wrong.
func Parse(raw string, known, features []string) (Parsed, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Parsed{}, &Wrong{BadQuery, "the parameters are not name=value&name=value, with % before two hex digits"}
	}
	v := Parsed{Values: map[string]string{}}
	for name, all := range values {
		feature, prefixed := strings.CutPrefix(name, FeaturePrefix)
		isFeature := (prefixed || !slices.Contains(known, name)) && slices.Contains(features, feature)
		switch {
		case !isFeature && !slices.Contains(known, name):
			return Parsed{}, &Wrong{UnknownParameter, Shown(name) + " is no parameter of this path; there are " + strings.Join(slices.Concat(known, features), ", ")}
		case len(all) > 1 || (isFeature && v.Features[feature] != ""):
			return Parsed{}, &Wrong{RepeatedParameter, Shown(name) + " is there more than once"}
		case !isFeature:
			v.Values[name] = all[0]
			continue
		}
		if err := CheckName(feature, all[0], models.MaxFeature); err != nil {
			return Parsed{}, err
		}
		if v.Features == nil {
			v.Features = map[string]string{}
		}
		v.Features[feature] = all[0]
	}
	return v, nil
}

// CheckName refuses a name that no event can have had. All others are taken as they are. The error is a *Wrong.
func CheckName(field, value string, most int) error {
	switch {
	case value == "":
		return &Wrong{"missing_" + field, field + ": want a name"}
	case len(value) > most:
		return &Wrong{field + "_too_long", field + ": want at most " + strconv.Itoa(most) + " bytes"}
	case !utf8.ValidString(value):
		return &Wrong{field + "_bad_utf8", field + ": want UTF-8"}
	case strings.IndexByte(value, 0) >= 0:
		return &Wrong{field + "_has_nul", field + ": want no NUL"}
	}
	return nil
}

// Shown is an excerpt of what a client sent, without characters that hide or reorder others.
func Shown(text string) string {
	return models.Visible(models.Excerpt(strings.ToValidUTF8(text, "?")))
}
