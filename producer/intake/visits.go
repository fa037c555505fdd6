package intake

import "footfall/models"

// visit reads a visit as JSON, in the format of models/schema/visit.v1.json, where v, id and ts may be left out.
func visit(raw []byte) (draft, error) {
	v, err := models.UnmarshalVisit(raw, true)
	if err != nil {
		return draft{}, err
	}
	if _, err := models.Fields(raw); err != nil {
		return draft{}, err
	}
	return draft{event: v}, nil
}
