package intake

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"footfall/models"
)

// trackFields are what a form may hold. The sources' form has no id; a sender that wants to retry safely adds one.
var trackFields = []string{"guid", "timestamp", "feature1", "feature2", "siteId", "id"}

// track is POST /track: one visit as the form that script tags send, the timestamp in seconds. The site may stand in the
// form or in the URL (/track?siteId=...), where it can be part of the snippet that a site embeds.
func track(r *http.Request, body []byte) (models.Event, error) {
	// A line end cannot be part of a form, where it would be %0A: it comes from a file or an editor.
	values, err := url.ParseQuery(string(bytes.TrimRight(body, "\r\n")))
	if err != nil {
		return nil, &refusal{reason: badForm, detail: err.Error()}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &refusal{reason: badForm, detail: "in the URL: " + err.Error()}
	}
	for name, v := range query {
		if name != "siteId" {
			return nil, &models.Invalid{Reason: models.ReasonUnknownField, Detail: name + ": only siteId may be in the URL"}
		}
		values[name] = append(values[name], v...)
	}
	for name, v := range values {
		switch {
		case !slices.Contains(trackFields, name):
			return nil, &models.Invalid{Reason: models.ReasonUnknownField, Detail: name}
		case len(v) > 1:
			return nil, &refusal{reason: repeatedField, detail: name}
		}
	}

	visit := &models.Visit{
		ID: values.Get("id"), SiteID: values.Get("siteId"), GUID: values.Get("guid"),
		Features: []string{values.Get("feature1"), values.Get("feature2")},
	}
	if visit.TS, err = seconds(values.Get("timestamp")); err != nil {
		return nil, err
	}
	if err := complete(&visit.V, &visit.TS, &visit.ID); err != nil {
		return nil, err
	}
	return visit, nil
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
