package stats

import (
	"cmp"
	"context"
	"iter"

	"footfall/models"
)

// LinkMonth is all that is kept of a link's month. Its rows can be run through once.
type LinkMonth struct {
	Month   models.Millis // its start
	AsOf    AsOf
	Reading *Reading
	// Rows are clicks by hour, clicks by day, then amounts by day, each oldest first, and the breakdowns of the month, each in the order of its labels.
	Rows iter.Seq2[LinkCount, error]
}

// The metrics of a link's month.
const (
	LinkClicks = "clicks"
	ClicksBy   = "clicks_by"  // clicks of the month that have a label
	AmountNum  = "amount_num" // how many clicks of a day had an amount
	AmountSum  = "amount_sum" // the sum of a day's amounts, in the smallest unit
)

// LinkCount is a number of a link's hour, day or month.
type LinkCount struct {
	Unit  Unit
	By    string // what the label is, such as country; empty: it has none
	Label string
	Count
}

// LinkMonth reads all that is kept of a link's month; month is any moment of it.
func (r *Reader) LinkMonth(ctx context.Context, link string, month models.Millis) (*LinkMonth, error) {
	if err := cmp.Or(checkLink(link), checkMoment("month", month)); err != nil {
		return nil, err
	}
	reading, err := r.begin(ctx, r.clicks)
	if err != nil {
		return nil, err
	}
	as, _, err := r.asOf(ctx, r.clicks)
	if err != nil {
		return nil, err
	}
	as.Doubts = reading.doubts
	within := PeriodOf(Month, month).Range()
	m := &LinkMonth{Month: within.From, AsOf: as, Reading: reading}
	m.Rows = func(yield func(LinkCount, error) bool) {
		for _, unit := range []Unit{Hour, Day} {
			for p, err := range r.store.Points(ctx, models.LinkKey(link), clicksBy(unit), within) {
				if !yield(LinkCount{Unit: unit, Count: Count{LinkClicks, p.Start, p.Count}}, err) || err != nil {
					return
				}
			}
		}
		for a, err := range r.store.Amounts(ctx, link, within) {
			if !yield(LinkCount{Unit: Day, Count: Count{AmountNum, a.Start, a.Num}}, err) || err != nil {
				return
			}
			if !yield(LinkCount{Unit: Day, Count: Count{AmountSum, a.Start, a.Sum}}, nil) {
				return
			}
		}
		for _, by := range r.Plan().Breakdowns() {
			if by.ByMonth == "" {
				continue
			}
			for row, err := range r.store.Shares(ctx, link, by.ByMonth, within) {
				if !yield(LinkCount{Month, by.Word, row.Label, Count{ClicksBy, within.From, row.Count}}, err) || err != nil {
					return
				}
			}
		}
	}
	return m, nil
}
