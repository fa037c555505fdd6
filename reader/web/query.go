package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"footfall/models"
	"footfall/reader/stats"
)

// featurePrefix may stand before the name of a feature, for one that is called as another parameter is.
const featurePrefix = "feature."

// query has the parameters of a request: each once, none that the route does not know. A filter that is misspelt must not be ignored:
// the answer would be a number of something else.
type query struct {
	values   map[string]string
	features map[string]string // filters by feature; nil if there are none
}

// parseQuery reads parameters. known are the route's; features are those that may be filtered by.
func parseQuery(raw string, known, features []string) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, &refusal{Reason: badQuery, Detail: "the parameters are not name=value&name=value, with % before two hex digits"}
	}
	q := query{values: map[string]string{}}
	for name, all := range values {
		feature, prefixed := strings.CutPrefix(name, featurePrefix)
		isFeature := (prefixed || !slices.Contains(known, name)) && slices.Contains(features, feature)
		switch {
		case !isFeature && !slices.Contains(known, name):
			return query{}, &refusal{Reason: unknownParameter, Detail: visible(name) + " is no parameter of this path; there are " + strings.Join(slices.Concat(known, features), ", ")}
		case len(all) > 1 || (isFeature && q.features[feature] != ""):
			return query{}, &refusal{Reason: repeatedParameter, Detail: visible(name) + " is there more than once"}
		case !isFeature:
			q.values[name] = all[0]
			continue
		}
		if err := checkName(feature, all[0], models.MaxFeature); err != nil {
			return query{}, err
		}
		if q.features == nil {
			q.features = map[string]string{}
		}
		q.features[feature] = all[0]
	}
	return q, nil
}

// get is the value of a parameter, or otherwise if it is absent or empty.
func (q query) get(name, otherwise string) string {
	if v := q.values[name]; v != "" {
		return v
	}
	return otherwise
}

// within is the range of from and to; an end that is absent is open.
func (q query) within() (within stats.Range, err error) {
	if within.From, err = q.end("from"); err == nil {
		within.To, err = q.end("to")
	}
	return within, err
}

// end reads one end of a range; absent: 0, which is open.
func (q query) end(name string) (models.Millis, error) {
	text := q.get(name, "")
	if text == "" {
		return 0, nil
	}
	return stats.ParseMoment(name, text)
}

// moment reads a parameter that is one day or month; absent: the one that it is now.
func (q query) moment(name, layout string, now time.Time) (models.Millis, error) {
	t, err := time.Parse(layout, q.get(name, now.UTC().Format(layout)))
	if at := models.Millis(t.UnixMilli()); err == nil && at >= models.Earliest && at <= models.Latest {
		return at, nil
	}
	return 0, &stats.Malformed{Field: name, Detail: "want " + map[string]string{models.Daily: "a day, such as 2018-10-03", models.Monthly: "a month, such as 2018-10"}[layout]}
}

// period reads the parameter period; absent: this month.
func (q query) period(now time.Time) (stats.Period, error) {
	return stats.ParsePeriod(q.get("period", now.UTC().Format(models.Monthly)))
}

// limit reads the parameter limit; absent: 0, which is no limit.
func (q query) limit() (int, error) {
	text := q.get("limit", "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > stats.MaxRanked || strconv.Itoa(n) != text {
		return 0, &stats.Malformed{Field: "limit", Detail: "want 1 to " + strconv.Itoa(stats.MaxRanked)}
	}
	return n, nil
}

// checkName refuses a name that no event can have had. All others are taken as they are.
func checkName(field, value string, most int) error {
	switch {
	case value == "":
		return &refusal{Reason: "missing_" + field}
	case len(value) > most:
		return &refusal{Reason: field + "_too_long", Detail: "it has at most " + strconv.Itoa(most) + " bytes"}
	case !utf8.ValidString(value):
		return &refusal{Reason: field + "_bad_utf8"}
	case strings.IndexByte(value, 0) >= 0:
		return &refusal{Reason: field + "_has_nul"}
	}
	return nil
}

// visible is an excerpt of what a client sent, without characters that hide or reorder others.
func visible(text string) string {
	return models.Visible(models.Excerpt(strings.ToValidUTF8(text, "?")))
}
