package intake

import (
	"net/http"

	"footfall/models"
)

// visit is POST /v1/visits: one visit as JSON, in the format of models/schema/visit.v1.json, where v, id and ts may be
// left out.
func visit(_ *http.Request, body []byte) (models.Event, error) {
	v, err := models.UnmarshalVisit(body, true)
	if err != nil {
		return nil, err
	}
	if err := complete(&v.V, &v.TS, &v.ID); err != nil {
		return nil, err
	}
	return v, nil
}
