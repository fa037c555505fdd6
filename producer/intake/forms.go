package intake

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"

	"footfall/models"
	"footfall/producer/answer"
)

// visits parses visits. Senders name the features of the plan as fields.
type visits struct{ plan *models.Plan }

// parseJSON parses a visit as JSON, in the format of models/schema/visit.v1.json; v, id and ts may be left out.
func (v visits) parseJSON(raw []byte) (draft, error) {
	visit, err := v.plan.TakeVisit(raw)
	if err != nil {
		return draft{}, err
	}
	return draft{event: visit}, nil
}

// The fields of a visit that comes as a form, besides features, and of a click that comes by pixel. The request shows the rest: whoever
// loads a pixel is the visitor.
var formFields, clickPixelFields = inForms(models.VisitFields), inForms(models.ClickFields)

func inForms(fields []models.Field) (names []string) {
	for _, f := range fields {
		if f.Form != "" {
			names = append(names, f.Form)
		}
	}
	return names
}

// parseForm parses one visit as the form that track.js sends, with the timestamp in seconds. The site may be in the form or in
// the query of the URL (/track?siteId=...), where it can be part of the snippet that a site embeds; fillSite is for none.
func (v visits) parseForm(query string, body []byte) (draft, error) {
	// A line end is no part of a form, where it would be %0A: it comes from a file or an editor.
	values, err := url.ParseQuery(string(bytes.TrimRight(body, "\r\n")))
	if err != nil {
		return draft{}, &answer.Refusal{Reason: answer.BadForm, Detail: models.Excerpt(err.Error())}
	}
	inURL, err := parseQuery(query)
	if err != nil {
		return draft{}, err
	}
	for name, given := range inURL {
		if name != "siteId" {
			return draft{}, &models.Invalid{Reason: models.ReasonUnknownField, Detail: models.Excerpt(name) + ": only siteId and key may be in the URL"}
		}
		values[name] = append(values[name], given...)
	}
	return v.form(values)
}

// fillSite fills in the site of a visit that names none, if the sender writes for exactly one site.
func (s *server) fillSite(from sender, written draft) {
	if v, ok := written.event.(*models.Visit); ok && v.SiteID == "" {
		v.SiteID = s.access.OnlySite(from.grants, from.page.Origin)
	}
}

// parseQuery parses the query of a URL. It leaves out the write key, which is no field of an event.
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

// form makes a visit from the fields of a form.
func (v visits) form(values url.Values) (draft, error) {
	features := v.plan.Features()
	if err := onlyOnce(values, slices.Concat(formFields, features)); err != nil {
		return draft{}, err
	}
	ts, err := seconds(values.Get("timestamp"))
	if err != nil {
		return draft{}, err
	}
	visit := &models.Visit{ID: values.Get("id"), SiteID: values.Get("siteId"), GUID: values.Get("guid"), TS: ts, Plan: v.plan}
	for _, name := range features {
		visit.Features = append(visit.Features, values.Get(name))
	}
	return draft{event: visit}, nil
}

// onlyOnce refuses unknown fields, and fields that are given twice.
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

// seconds parses the only timestamp in footfall that is not in milliseconds.
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

// parsePixel parses the query of GET /pixel.gif: with short_url it is a click, else a visit with the fields of /track.
func (v visits) parsePixel(query string) (draft, error) {
	values, err := parseQuery(query)
	if err != nil {
		return draft{}, err
	}
	if !values.Has("short_url") {
		return v.form(values)
	}
	if err := onlyOnce(values, clickPixelFields); err != nil {
		return draft{}, err
	}
	ts, err := seconds(values.Get("timestamp"))
	if err != nil {
		return draft{}, err
	}
	worth, err := amount(values.Get("amount"))
	if err != nil {
		return draft{}, err
	}
	return draft{event: &models.Click{
		ID: values.Get("id"), ShortURL: values.Get("short_url"), Referrer: values.Get("referrer"), TS: ts, Amount: worth,
	}}, nil
}

// amount parses what a click was worth; nil if it is not given.
func amount(text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, &models.Invalid{Reason: models.ReasonBadAmount, Detail: "amount is a whole number of the smallest unit, such as cents"}
	}
	return &n, nil
}
