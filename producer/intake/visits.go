package intake

import "footfall/models"

// visits makes events of what senders write. They name the features of the plan as fields.
type visits struct{ plan *models.Plan }

// read reads a visit as JSON, in the format of models/schema/visit.v1.json, where v, id and ts may be left out.
func (w visits) read(raw []byte) (draft, error) {
	v, err := w.plan.TakeVisit(raw)
	if err != nil {
		return draft{}, err
	}
	return draft{event: v}, nil
}
