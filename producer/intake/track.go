package intake

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"

	"footfall/models"
	"footfall/producer/answer"
)

// trackFields are what a form may hold besides features. The sources' form has no id; a sender that wants to retry safely
// adds one.
var trackFields = []string{"guid", "timestamp", "siteId", "id"}

// track reads one visit as the form that script tags send, the timestamp in seconds. The site may stand in the form or in
// the query of the URL (/track?siteId=...), where it can be part of the snippet that a site embeds; see fillSite for none.
func (w visits) track(query string, body []byte) (draft, error) {
	// A line end cannot be part of a form, where it would be %0A: it comes from a file or an editor.
	values, err := url.ParseQuery(string(bytes.TrimRight(body, "\r\n")))
	if err != nil {
		return draft{}, &answer.Refusal{Reason: answer.BadForm, Detail: models.Excerpt(err.Error())}
	}
	inURL, err := parseQuery(query)
	if err != nil {
		return draft{}, err
	}
	for name, v := range inURL {
		if name != "siteId" {
			return draft{}, &models.Invalid{Reason: models.ReasonUnknownField, Detail: models.Excerpt(name) + ": only siteId and key may be in the URL"}
		}
		values[name] = append(values[name], v...)
	}
	return w.form(values)
}

// fillSite gives a visit that came as a form without a site the one that its sender writes for, if there is just one.
func (d *door) fillSite(from sender, written draft) {
	if v, ok := written.event.(*models.Visit); ok && v.SiteID == "" {
		v.SiteID = d.access.onlySite(from.held, from.page.origin)
	}
}

// parseQuery reads the query of a URL, without the write key, which is no field of an event.
func parseQuery(query string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, &answer.Refusal{Reason: answer.BadForm, Detail: "in the URL: " + models.Excerpt(err.Error())}
	}
	if len(values["key"]) > 1 {
		return nil, &answer.Refusal{Reason: answer.RepeatedField, Detail: "key"}
	}
	delete(values, "key")
	return values, nil
}

// form makes a visit of the fields of a form.
func (w visits) form(values url.Values) (draft, error) {
	features := w.plan.Features()
	if err := onlyOnce(values, slices.Concat(trackFields, features)); err != nil {
		return draft{}, err
	}
	ts, err := seconds(values.Get("timestamp"))
	if err != nil {
		return draft{}, err
	}
	v := &models.Visit{ID: values.Get("id"), SiteID: values.Get("siteId"), GUID: values.Get("guid"), TS: ts, Plan: w.plan}
	for _, name := range features {
		v.Features = append(v.Features, values.Get(name))
	}
	return draft{event: v}, nil
}

// onlyOnce refuses fields that nobody reads, and those that say two things.
func onlyOnce(values url.Values, known []string) error {
	for name, v := range values {
		switch {
		case !slices.Contains(known, name):
			return &models.Invalid{Reason: models.ReasonUnknownField, Detail: models.Excerpt(name)}
		case len(v) > 1:
			return &answer.Refusal{Reason: answer.RepeatedField, Detail: models.Excerpt(name)}
		}
	}
	return nil
}

// seconds reads the only timestamp in footfall that is not in milliseconds.
func seconds(text string) (models.Millis, error) {
	if text == "" {
		return models.Absent, nil
	}
	s, err := strconv.ParseInt(text, 10, 64)
	if err != nil || s < 0 || s > int64(models.Latest/1000) { // before it overflows in milliseconds
		return 0, &models.Invalid{Reason: models.ReasonBadTimestamp, Detail: "timestamp is a whole number of Unix seconds"}
	}
	return models.Millis(s * 1000), nil
}
