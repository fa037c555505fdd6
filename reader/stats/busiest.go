package stats

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"footfall/models"
)

const (
	// MaxBusiest is how many links BusiestLinks ranks: each is a read of its own.
	MaxBusiest  = 200
	readsAtOnce = 16
)

// BusiestLinks ranks the links of a day by its clicks; day is any moment of it. may tells which ones to rank; nil: all. With a limit the
// answer has that many rows. Complete is false if there were more than MaxBusiest: the others are not in the ranking.
func (r *Reader) BusiestLinks(ctx context.Context, day models.Millis, limit int, may func(string) bool) (Top, error) {
	names, err := r.Links(ctx, day)
	if err != nil {
		return Top{}, err
	}
	ranked, left, err := permitted(names.Rows, may, MaxBusiest)
	if err != nil {
		return Top{}, fmt.Errorf("listing links: %w", err)
	}
	period := PeriodOf(Day, day)
	counts := make([]int64, len(ranked))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, name := range ranked {
		group.Go(func() error {
			for p, err := range r.store.Clicks(groupCtx, name, Day, period.Range()) {
				if err != nil {
					return fmt.Errorf("reading clicks of a day: %w", err)
				}
				counts[i] += p.Count
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Top{}, err
	}
	return Top{Period: period, Metric: Views, Rows: rank(ranked, counts, limit), Values: len(ranked) + left, Complete: left == 0, AsOf: names.AsOf}, nil
}

// BusiestSites ranks the sites of a month by a metric; month is any moment of it. may and limit are those of BusiestLinks; the ranking
// has up to MaxRanked sites.
func (r *Reader) BusiestSites(ctx context.Context, month models.Millis, metric Metric, limit int, may func(string) bool) (Top, error) {
	column, err := kept(r.Plan(), metric, Month, 0)
	if err != nil {
		return Top{}, err
	}
	names, err := r.Sites(ctx, month)
	if err != nil {
		return Top{}, err
	}
	ranked, left, err := permitted(names.Rows, may, MaxRanked)
	if err != nil {
		return Top{}, fmt.Errorf("listing sites: %w", err)
	}
	period := PeriodOf(Month, month)
	keys := make([]SiteKey, len(ranked))
	for i, name := range ranked {
		keys[i] = SiteKey{name, period.Start, make([]string, len(r.Plan().Features()))}
	}
	counts, err := r.store.Ranked(ctx, keys, column, period.Range())
	if err != nil {
		return Top{}, fmt.Errorf("ranking %d sites: %w", len(keys), err)
	}
	return Top{Period: period, Metric: metric, Rows: rank(ranked, counts, limit), Values: len(ranked) + left, Complete: left == 0, AsOf: names.AsOf}, nil
}

// permitted reads names that may be ranked, and counts those beyond most.
func permitted(rows iter.Seq2[string, error], may func(string) bool, most int) (names []string, left int, err error) {
	for name, err := range rows {
		switch {
		case err != nil:
			return nil, 0, err
		case may != nil && !may(name):
		case len(names) == most:
			left++
		default:
			names = append(names, name)
		}
	}
	return names, left, nil
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
		rows = rows[:limit]
	}
	return rows
}
