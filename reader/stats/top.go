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
	as, final, err := r.asOf(ctx, r.visits)
	if err != nil {
		return Top{}, err
	}
	out := Top{Period: q.Period, Metric: q.Metric, AsOf: as, Final: q.Period.End() <= final}
	ranking := ranking{counts: map[string]int64{}}
	for _, month := range monthsOf(metric, q.Period) {
		names, err := r.list(ctx, &ranking, q.Site, month, q.Feature)
		if err != nil {
			return Top{}, err
		}
		keys := make([]SiteKey, len(names))
		for i, name := range names {
			features := slices.Clone(key)
			features[feature] = name
			keys[i] = SiteKey{q.Site, month, features}
		}
		counts, err := r.store.Ranked(ctx, keys, metric, q.Period.Range())
		if err != nil {
			return Top{}, fmt.Errorf("ranking %d values: %w", len(keys), err)
		}
		for i, name := range names {
			ranking.counts[name] += counts[i]
		}
	}
	out.Rows, out.Values, out.Complete = ranking.rows(q.Limit), len(ranking.counts)+ranking.left, ranking.left == 0
	return out, nil
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

// ranking is what was found so far.
type ranking struct {
	counts map[string]int64
	left   int // values beyond MaxRanked
}

// list reads the values of a month that are ranked, and counts those that are left out.
func (r *Reader) list(ctx context.Context, into *ranking, site string, month models.Millis, feature string) (names []string, err error) {
	for name, err := range r.store.Values(ctx, site, month, feature) {
		if err != nil {
			return nil, fmt.Errorf("listing values: %w", err)
		}
		if _, known := into.counts[name]; !known && len(into.counts) == MaxRanked {
			into.left++
			continue
		}
		into.counts[name] += 0
		names = append(names, name)
	}
	return names, nil
}

func (r ranking) rows(limit int) []Share {
	rows := make([]Share, 0, len(r.counts))
	for name, count := range r.counts {
		if count != 0 {
			rows = append(rows, Share{name, count})
		}
	}
	slices.SortFunc(rows, compareShares)
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	return rows
}
