package stats

import (
	"context"
	"fmt"
	"iter"
	"time"

	"footfall/models"
)

// listing is whether the lists were whole at a moment.
type listing struct {
	at    time.Time
	whole bool
}

// unlisted tells whether names may be missing from the lists. It must be asked before a list is read. The store is asked once in rareAge at
// the most, and never again when the lists are whole.
func (r *Reader) unlisted(ctx context.Context) (bool, error) {
	now := r.now()
	if last := r.lists.Load(); last != nil && (last.whole || now.Sub(last.at) < rareAge) {
		return !last.whole, nil
	}
	whole, err := r.store.Listed(ctx)
	if err != nil {
		return true, fmt.Errorf("reading whether the lists are whole: %w", err)
	}
	r.lists.Store(&listing{now, whole})
	return !whole, nil
}

// names is a list of what was counted of a topic. Its rows are not read yet.
func (r *Reader) names(ctx context.Context, topic string, rows iter.Seq2[string, error]) (Names, error) {
	as, _, err := r.asOf(ctx, topic)
	if err != nil {
		return Names{}, err
	}
	unlisted, err := r.unlisted(ctx)
	if err != nil {
		return Names{}, err
	}
	return Names{AsOf: as, Unlisted: unlisted, Rows: rows}, nil
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
