package stats

import (
	"context"
	"strings"

	"footfall/models"
)

// names is a list of what was counted of a topic, as far as the names are in one of the ranges. Its rows are not read yet.
func (r *Reader) names(ctx context.Context, topic string, list models.Name, of []models.NameRange) (Names, error) {
	as, _, err := r.asOf(ctx, topic)
	rows := func(yield func(string, error) bool) {
		for _, within := range of {
			for name, err := range r.store.Names(ctx, list, within) {
				if !yield(name, err) {
					return
				}
			}
		}
	}
	return Names{AsOf: as, Rows: rows}, err
}

// valuesOf is the list of the values that a feature of a site had in a month.
func valuesOf(site string, month models.Millis, feature string) models.Name {
	return models.Name{List: models.ValuesByMonth, Start: month, Site: site, Feature: feature}
}

// allNames is before and after all names that a value can have.
var allNames = models.NameRange{To: strings.Repeat("\U0010FFFF", models.MaxFeature/4+1)}
