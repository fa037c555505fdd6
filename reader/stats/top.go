package stats

import (
	"context"
	"fmt"
	"slices"

	"footfall/models"
)

// TopQuery asks for a ranking.
type TopQuery struct {
	Site     string
	Feature  string // whose values are ranked
	Period   Period
	Metric   Metric
	Features map[string]string // of the others, by name; one that is absent or empty is "any"
	Limit    int               // how many rows; 0: all
}

// SiteTop ranks the values of a feature.
func (r *Reader) SiteTop(ctx context.Context, q TopQuery) (Top, error) {
	plan := r.Plan()
	if err := checkSite(q.Site); err != nil {
		return Top{}, err
	}
	if err := q.Period.check(); err != nil {
		return Top{}, err
	}
	feature, err := featureIndex(plan, q.Feature)
	if err != nil {
		return Top{}, err
	}
	key, fixed, err := values(plan, q.Features)
	if err != nil {
		return Top{}, err
	}
	if key[feature] != "" {
		return Top{}, &Malformed{Field: q.Feature, Detail: "want a filter by other features than the one that is ranked"}
	}
	metric, err := kept(plan, q.Metric, q.Period.Unit, fixed+1)
	if err != nil {
		return Top{}, err
	}
	as, seldom, err := r.asOf(ctx, r.visits)
	if err != nil {
		return Top{}, err
	}
	months := monthsOf(metric, q.Period)
	names, complete, err := r.list(ctx, q.Site, months, q.Feature)
	if err != nil {
		return Top{}, err
	}
	sums := make([]int64, len(names))
	for _, month := range months {
		keys := make([]models.Key, len(names))
		for i, name := range names {
			features := slices.Clone(key)
			features[feature] = name
			keys[i] = models.SiteKey(q.Site, month, features...)
		}
		counts, err := r.store.Ranked(ctx, keys, metric, q.Period.Range())
		if err != nil {
			return Top{}, fmt.Errorf("ranking %d values: %w", len(keys), err)
		}
		for i, n := range counts {
			sums[i] += n
		}
	}
	return Top{Period: q.Period, Metric: q.Metric, Rows: rank(names, sums, q.Limit), Values: len(names), Complete: complete,
		AsOf: as, Final: q.Period.End() <= seldom.retired}, nil
}

// monthsOf are the keys' months that have the counters of a period. A week has its unique visitors in the month of its Monday, and
// its views in the months of its days.
func monthsOf(metric string, p Period) []models.Millis {
	first, last := p.Start.Month(), (p.End() - 1).Month()
	if first == last || metric == models.WeekUnique {
		return []models.Millis{first}
	}
	return []models.Millis{first, last}
}

// list reads the values of months that are ranked: each once, and MaxRanked and MaxRankedBytes at the most. complete is false if there are more.
func (r *Reader) list(ctx context.Context, site string, months []models.Millis, feature string) (names []string, complete bool, err error) {
	known, bytes := map[string]bool{}, 0
	for _, month := range months {
		for name, err := range r.store.Names(ctx, valuesOf(site, month, feature), allNames) {
			switch {
			case err != nil:
				return nil, false, fmt.Errorf("listing values: %w", err)
			case known[name]:
			case len(names) == MaxRanked || bytes+len(name) > MaxRankedBytes:
				return names, false, nil
			default:
				known[name], bytes = true, bytes+len(name)
				names = append(names, name)
			}
		}
	}
	return names, true, nil
}
