package stats

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"footfall/models"
)

// SeriesQuery asks for a series of a site.
type SeriesQuery struct {
	Site     string
	Metric   Metric
	By       Unit
	Within   Range             // both ends are needed
	Features map[string]string // by name; one that is absent or empty is "any"
}

// Sites are the sites that were visited in a month, or in a week that begins in it, of those whose names are in one of the ranges; month is
// any moment of it.
func (r *Reader) Sites(ctx context.Context, month models.Millis, of []models.NameRange) (Names, error) {
	if err := checkMoment("month", month); err != nil {
		return Names{}, err
	}
	return r.names(ctx, r.visits, models.Name{List: models.SitesByMonth, Start: month.Month()}, of)
}

// Values are those that a feature of a site had in a month, or in a week that begins in it; month is any moment of it.
func (r *Reader) Values(ctx context.Context, site, feature string, month models.Millis) (Names, error) {
	if err := cmp.Or(checkSite(site), checkMoment("month", month)); err != nil {
		return Names{}, err
	}
	if _, err := featureIndex(r.Plan(), feature); err != nil {
		return Names{}, err
	}
	return r.names(ctx, r.visits, valuesOf(site, month.Month(), feature), []models.NameRange{allNames})
}

// Site is the summary of a site's hour, day, week or month, under features by name; none are needed.
func (r *Reader) Site(ctx context.Context, site string, period Period, features map[string]string) (Site, error) {
	if err := cmp.Or(checkSite(site), period.check()); err != nil {
		return Site{}, err
	}
	key, fixed, err := values(r.Plan(), features)
	if err != nil {
		return Site{}, err
	}
	out := Site{Period: period}
	as, seldom, err := r.asOf(ctx, r.visits)
	if err != nil {
		return Site{}, err
	}
	out.AsOf, out.Final = as, period.End() <= seldom.retired
	group, reading := errgroup.WithContext(ctx)
	for metric, into := range map[Metric]**int64{Views: &out.Views, Unique: &out.Unique} {
		name, err := kept(r.Plan(), metric, period.Unit, fixed)
		if err != nil {
			continue // nil says so
		}
		group.Go(func() error {
			sum := int64(0)
			for p, err := range r.read(reading, site, key, name, period.Unit, period.Range()) {
				if err != nil {
					return err
				}
				sum += p.Count // of unique visitors there is one point
			}
			*into = &sum
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Site{}, err
	}
	return out, nil
}

// SiteSeries is a site's views or unique visitors by hour, day, week or month.
func (r *Reader) SiteSeries(ctx context.Context, q SeriesQuery) (Series, error) {
	if err := cmp.Or(checkSite(q.Site), q.Within.check(q.By), q.Within.checkMonths()); err != nil {
		return Series{}, err
	}
	key, fixed, err := values(r.Plan(), q.Features)
	if err != nil {
		return Series{}, err
	}
	name, err := kept(r.Plan(), q.Metric, q.By, fixed)
	if err != nil {
		return Series{}, err
	}
	as, seldom, err := r.asOf(ctx, r.visits)
	if err != nil {
		return Series{}, err
	}
	points := r.read(ctx, q.Site, key, name, q.By, q.Within)
	return Series{Unit: q.By, Within: q.Within, AsOf: as, FinalBefore: seldom.retired, Points: points}, nil
}

// read is a metric of a site by unit, month after month.
func (r *Reader) read(ctx context.Context, site string, features []string, metric string, by Unit, within Range) iter.Seq2[Point, error] {
	months := func(yield func(Point, error) bool) {
		for month := within.From.Month(); month < within.To; month = Month.End(month) {
			for p, err := range r.store.Points(ctx, models.SiteKey(site, month, features...), metric, within) {
				if !yield(p, err) || err != nil {
					return
				}
			}
		}
	}
	return summed(by, months)
}

// check refuses a period that is none.
func (p Period) check() error {
	if _, err := ParseUnit(string(p.Unit)); err != nil || p.Unit.Start(p.Start) != p.Start {
		return &Malformed{Field: "period", Detail: "want an hour, a day, a week or a month"}
	}
	return p.Range().check(p.Unit)
}

// checkMonths refuses a range of a site's counts that has an open end, or too many months.
func (r Range) checkMonths() error {
	if r.From == 0 || r.To == 0 {
		return &Malformed{Field: "from, to", Detail: "want both: this is kept by month"}
	}
	months := 0
	for month := r.From.Month(); month < r.To; month = Month.End(month) {
		if months++; months > MaxMonths {
			return &TooMuch{Asked: fmt.Sprintf("more than %d months", MaxMonths), Most: fmt.Sprintf("%d months", MaxMonths)}
		}
	}
	return nil
}
