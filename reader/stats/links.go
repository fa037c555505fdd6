package stats

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"footfall/models"
)

// Breakdown is what a link's clicks are divided by.
type Breakdown string

// The breakdowns of a link.
const (
	Countries Breakdown = "countries"
	Referrers Breakdown = "referrers"
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
	kept := Day
	if by == Hour {
		kept = Hour
	}
	return Series{Unit: by, Within: within, AsOf: as, Points: summed(by, r.store.Clicks(ctx, link, kept, within))}, nil
}

// LinkBreakdown is a link's clicks by country or referrer. These are kept for its whole life only: any range but the zero one is not
// kept. With a limit it has that many rows, largest first; with 0 all, in the order of the labels, streamed.
func (r *Reader) LinkBreakdown(ctx context.Context, link string, by Breakdown, within Range, limit int) (Shares, error) {
	var valid error
	read := r.store.Countries
	switch {
	case !within.Whole():
		valid = &NotKept{Asked: "a link's list of " + string(by) + " for a range of time", Instead: []string{
			string(by) + " of all time, without from and to", "clicks of a range of time (series)"}}
	case by == Countries:
	case by == Referrers:
		read = r.store.Referrers
	default:
		valid = &NotKept{Asked: "a link's list of " + models.Excerpt(string(by)), Instead: []string{string(Countries), string(Referrers)}}
	}
	as, err := r.ofLink(ctx, link, valid)
	if err != nil {
		return Shares{}, err
	}
	rows := read(ctx, link)
	if limit > 0 {
		rows = largest(rows, limit)
	}
	return Shares{AsOf: as, Rows: rows}, nil
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
	return r.names(ctx, r.clicks, listOf(ctx, r.store.Links, day.Day(), of))
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
