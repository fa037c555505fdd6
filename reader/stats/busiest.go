package stats

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"footfall/models"
)

// MaxBusiest is how many links or sites are ranked: both rankings are read again and again while somebody looks at the first page.
const MaxBusiest = 2_000

// BusiestLinks ranks the links of a day by its clicks, of those whose names are in one of the ranges; day is any moment of it. With a limit the
// answer has that many rows. Complete is false if there were more than MaxBusiest: they are not in the ranking.
func (r *Reader) BusiestLinks(ctx context.Context, day models.Millis, limit int, of []models.NameRange) (Top, error) {
	names, err := r.Links(ctx, day, of)
	if err != nil {
		return Top{}, err
	}
	top := Top{Period: PeriodOf(Day, day), Metric: Views}
	return r.busiest(ctx, top, names, limit, models.DayCounters, models.LinkKey)
}

// BusiestSites ranks the sites of a month by a metric; month is any moment of it. of, limit and Complete are those of BusiestLinks.
func (r *Reader) BusiestSites(ctx context.Context, month models.Millis, metric Metric, limit int, of []models.NameRange) (Top, error) {
	column, err := kept(r.Plan(), metric, Month, 0)
	if err != nil {
		return Top{}, err
	}
	names, err := r.Sites(ctx, month, of)
	if err != nil {
		return Top{}, err
	}
	top := Top{Period: PeriodOf(Month, month), Metric: metric}
	return r.busiest(ctx, top, names, limit, column, func(site string) models.Key {
		return models.SiteKey(site, top.Period.Start, make([]string, len(r.Plan().Features()))...)
	})
}

// busiest ranks the first names of a list, by a counter of their keys.
func (r *Reader) busiest(ctx context.Context, top Top, names Names, limit int, counter string, keyOf func(name string) models.Key) (Top, error) {
	ranked, complete, err := firstOf(names.Rows)
	if err != nil {
		return Top{}, fmt.Errorf("listing names: %w", err)
	}
	keys := make([]models.Key, len(ranked))
	for i, name := range ranked {
		keys[i] = keyOf(name)
	}
	counts, err := r.store.Ranked(ctx, keys, counter, top.Period.Range())
	if err != nil {
		return Top{}, fmt.Errorf("ranking %d names: %w", len(ranked), err)
	}
	top.Rows, top.Values, top.Complete, top.AsOf = rank(ranked, counts, limit), len(ranked), complete, names.AsOf
	return top, nil
}

// firstOf reads names, up to MaxBusiest of them. complete is false if there are more.
func firstOf(rows iter.Seq2[string, error]) (names []string, complete bool, err error) {
	for name, err := range rows {
		if err != nil {
			return nil, false, err
		}
		if len(names) == MaxBusiest {
			return names, false, nil
		}
		names = append(names, name)
	}
	return names, true, nil
}

func rank(names []string, counts []int64, limit int) []Share {
	rows := make([]Share, 0, len(names))
	for i, name := range names {
		if counts[i] != 0 {
			rows = append(rows, Share{name, counts[i]})
		}
	}
	slices.SortFunc(rows, compareShares)
	if limit > 0 && len(rows) > limit {
		rows = slices.Clone(rows[:limit]) // who keeps them must not keep all
	}
	return rows
}
