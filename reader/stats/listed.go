package stats

import (
	"context"
	"iter"

	"footfall/models"
)

// names is a list of what was counted of a topic. Its rows are not read yet.
func (r *Reader) names(ctx context.Context, topic string, rows iter.Seq2[string, error]) (Names, error) {
	as, _, err := r.asOf(ctx, topic)
	return Names{AsOf: as, Rows: rows}, err
}

// listOf reads the names of a list that are in one of the ranges.
func listOf(ctx context.Context, list func(context.Context, models.Millis, models.NameRange) iter.Seq2[string, error], at models.Millis, of []models.NameRange) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, r := range of {
			for name, err := range list(ctx, at, r) {
				if !yield(name, err) {
					return
				}
			}
		}
	}
}
