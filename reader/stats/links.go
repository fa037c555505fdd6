package stats

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"footfall/models"
)

// ofLink reads how far clicks are counted, for a question about a link. It returns why the question is wrong: its name, or valid.
func (r *Reader) ofLink(ctx context.Context, link string, valid error) (AsOf, error) {
	if err := cmp.Or(checkLink(link), valid); err != nil {
		return AsOf{}, err
	}
	as, _, err := r.asOf(ctx, r.clicks)
	return as, err
}

// Link is the summary of a link for its whole life. A link of which nothing is known has zeros.
func (r *Reader) Link(ctx context.Context, link string) (Link, error) {
	as, err := r.ofLink(ctx, link, nil)
	if err != nil {
		return Link{}, err
	}
	totals, err := r.store.Link(ctx, link)
	return Link{totals, as}, err
}

// LinkSeries is a link's clicks by hour, day, week or month. The range may have open ends.
func (r *Reader) LinkSeries(ctx context.Context, link string, by Unit, within Range) (Series, error) {
	as, err := r.ofLink(ctx, link, within.check(by))
	if err != nil {
		return Series{}, err
	}
	return Series{Unit: by, Within: within, AsOf: as, Points: summed(by, r.store.Points(ctx, models.LinkKey(link), clicksBy(by), within))}, nil
}

// clicksBy is the counter of links whose cells add up to clicks by a unit.
func clicksBy(unit Unit) string {
	if unit == Hour {
		return models.HourCounters
	}
	return models.DayCounters
}

// LinkBreakdown is a link's clicks by one of the plan's breakdowns, which by has the path of: of all time, or of whole months. With a limit it has that
// many rows, largest first; with 0 all, in the order of the labels, streamed.
func (r *Reader) LinkBreakdown(ctx context.Context, link, by string, within Range, limit int) (Shares, error) {
	kept, err := breakdown(r.Plan(), by, within)
	as, err := r.ofLink(ctx, link, err)
	if err != nil {
		return Shares{}, err
	}
	rows := r.shares(ctx, link, kept, within)
	if limit > 0 {
		rows = largest(rows, limit)
	}
	return Shares{AsOf: as, Rows: rows}, nil
}

// breakdown finds what answers. The error is a *NotKept if nothing does, or says what is wrong with the range.
func breakdown(plan *models.Plan, by string, within Range) (kept models.Breakdown, err error) {
	all := plan.Breakdowns()
	i := slices.IndexFunc(all, func(b models.Breakdown) bool { return b.Path == by })
	if i < 0 {
		unknown := &NotKept{Asked: "a link's list of " + models.Excerpt(by)}
		for _, b := range all {
			unknown.Instead = append(unknown.Instead, b.Path)
		}
		return kept, unknown
	}
	switch {
	case within.Whole():
		return all[i], nil
	case all[i].ByMonth == "":
		return kept, &NotKept{Asked: "a link's list of " + by + " for a range of time", Instead: []string{
			by + " of all time, without from and to", "clicks of a range of time (series)"}}
	}
	return all[i], cmp.Or(within.check(Month), within.checkMonths())
}

// shares reads a breakdown, in the order of the labels.
func (r *Reader) shares(ctx context.Context, link string, by models.Breakdown, within Range) iter.Seq2[Share, error] {
	switch {
	case within.Whole() && by.Ever != "":
		return r.store.Shares(ctx, link, by.Ever, within)
	case within.Whole(): // its labels are few: producers make them up
		return addedUp(r.store.Shares(ctx, link, by.ByMonth, within))
	}
	var months []iter.Seq2[Share, error]
	for month := within.From; month < within.To; month = Month.End(month) {
		months = append(months, r.store.Shares(ctx, link, by.ByMonth, PeriodOf(Month, month).Range()))
	}
	return merged(months)
}

// LinkAmounts is what a link's clicks were worth by day, week or month. The range may have open ends.
func (r *Reader) LinkAmounts(ctx context.Context, link string, by Unit, within Range) (Amounts, error) {
	if by == Hour {
		return Amounts{}, &NotKept{Asked: "the amount by hour", Instead: []string{"amounts by day, week, month"}}
	}
	as, err := r.ofLink(ctx, link, within.check(by))
	if err != nil {
		return Amounts{}, err
	}
	return Amounts{Unit: by, Within: within, AsOf: as, Rows: summedAmounts(by, r.store.Amounts(ctx, link, within))}, nil
}

// LinkLatest is the latest clicks of a link on a day, newest first; day is any moment of it.
func (r *Reader) LinkLatest(ctx context.Context, link string, day models.Millis) (Clicks, error) {
	as, err := r.ofLink(ctx, link, checkMoment("day", day))
	if err != nil {
		return Clicks{}, err
	}
	return Clicks{AsOf: as, Rows: r.store.Latest(ctx, link, day.Day())}, nil
}

// Links are the links that were clicked on a day, of those whose names are in one of the ranges; day is any moment of it.
func (r *Reader) Links(ctx context.Context, day models.Millis, of []models.NameRange) (Names, error) {
	if err := checkMoment("day", day); err != nil {
		return Names{}, err
	}
	return r.names(ctx, r.clicks, models.Name{List: models.LinksByDay, Start: day.Day()}, of)
}

// compareShares puts the largest first, and those that are as large in the order of their labels.
func compareShares(a, b Share) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Label, b.Label))
}

// largest keeps the largest rows, in memory for twice as many at the most.
func largest(rows iter.Seq2[Share, error], limit int) iter.Seq2[Share, error] {
	return func(yield func(Share, error) bool) {
		var top []Share
		for row, err := range rows {
			if err != nil {
				yield(Share{}, err)
				return
			}
			if top = append(top, row); len(top) == 2*limit {
				slices.SortFunc(top, compareShares)
				top = top[:limit]
			}
		}
		slices.SortFunc(top, compareShares)
		for _, row := range top[:min(limit, len(top))] {
			if !yield(row, nil) {
				return
			}
		}
	}
}
