package page

import (
	"cmp"
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/models"
	"footfall/reader/plot"
	"footfall/reader/stats"
)

// wholeMonths are the months that a window is in; all time if that was chosen, or if they are too many to be read.
func (w window) wholeMonths() stats.Range {
	months := stats.Range{From: w.within.From.Month(), To: stats.Month.End(min(w.within.To-1, models.Latest).Month())}
	if w.choice == "all" || (window{unit: stats.Month, within: months}).size() > stats.MaxMonths {
		return stats.Range{}
	}
	return months
}

// breakdowns are what a link's clicks are divided by, in the months of the window. clicks are those of all time.
func (h *Handler) breakdowns(ctx context.Context, a asked, w window, clicks int64) ([]*breakdown, error) {
	months, inMonths := w.wholeMonths(), clicks
	if !months.Whole() {
		points, err := h.clicks(ctx, a, stats.Month, months)
		if err != nil {
			return nil, err
		}
		inMonths = total(points)
	}
	kept := h.stats.Plan().Breakdowns()
	out := make([]*breakdown, len(kept))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, by := range kept {
		group.Go(func() (err error) {
			within, of := months, inMonths
			if by.ByMonth == "" || beforeAll(months) {
				within, of = stats.Range{}, clicks
			}
			out[i], err = h.linkShares(groupCtx, a, by, within, of)
			return err
		})
	}
	return out, group.Wait()
}

// linkShares is a link's clicks by one of its breakdowns, in whole months or of all time.
func (h *Handler) linkShares(ctx context.Context, a asked, by models.Breakdown, within stats.Range, clicks int64) (*breakdown, error) {
	limit, ofCountries := shown, by.Word == "country"
	if a.q.Get("show") == by.Path {
		limit = topShown
	}
	read := limit + 1
	if ofCountries {
		read = max(read, len(countries)) // all of them, for the map
	}
	shares, err := h.stats.LinkBreakdown(ctx, a.name, by.Path, within, read)
	if err != nil {
		return nil, err
	}
	found, err := collect(shares.Rows, 0)
	if err != nil {
		return nil, err
	}
	v := &breakdown{ID: by.Path, Heading: capital(by.Path), Column: capital(by.Word), Unit: "Clicks", Note: "All time.", CSV: a.api("/"+by.Path, "format", "csv")}
	if !within.Whole() {
		v.Note = "In " + monthsWords(within) + "."
		v.CSV = a.api("/"+by.Path, "from", stamp(within.From), "to", stamp(within.To), "format", "csv")
	}
	name := func(text string) string { return cmp.Or(text, "not told") }
	switch by.Word {
	case "country":
		name = countryAndCode
		v.Map, v.MapNote = worldMap(found)
	case "referrer":
		name = func(text string) string { return cmp.Or(text, "direct, or not told") }
	}
	if len(found) > limit {
		if found = found[:limit]; limit == shown {
			v.More = a.with("show", by.Path) + "#" + by.Path
		}
	}
	v.Empty = "None yet."
	v.Rows = rows(found, clicks, name, nil)
	return v, nil
}

// monthsWords are months as people name them.
func monthsWords(within stats.Range) string {
	first, last := within.From.Time().Format("January 2006"), (within.To - 1).Time().Format("January 2006")
	if first == last {
		return first
	}
	return first + " to " + last
}

// capital is a word at the beginning of a line.
func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// amounts is what the clicks of the window were worth; nil if none had an amount.
func (h *Handler) amounts(ctx context.Context, a asked, w window) (*amountsView, error) {
	unit := w.unit
	if unit == stats.Hour {
		unit = stats.Day // amounts are kept by day
	}
	within := stats.Range{From: unit.Start(w.within.From), To: unit.End(unit.Start(w.within.To - 1))}
	if beforeAll(within) {
		return nil, nil
	}
	amounts, err := h.stats.LinkAmounts(ctx, a.name, unit, within)
	if err != nil {
		return nil, err
	}
	var num, sum int64
	for row, err := range amounts.Rows {
		if err != nil {
			return nil, err
		}
		num, sum = num+row.Num, sum+row.Sum
	}
	if num == 0 {
		return nil, nil
	}
	note := "in the smallest unit, such as cents"
	if w.unit == stats.Hour {
		note += "; of whole days"
	}
	return &amountsView{Tiles: []tile{
		{Label: "Sum of amounts", Value: plot.Number(sum), Note: note},
		{Label: "Clicks with an amount", Value: plot.Number(num)},
	}, CSV: a.api("/amounts", "by", string(unit), "from", stamp(within.From), "to", stamp(within.To), "format", "csv")}, nil
}

// latest is the latest clicks of today. The visitor's address is not shown: a page is passed on more easily than a file.
func (h *Handler) latest(ctx context.Context, a asked) (out []clickRow, err error) {
	clicks, err := h.stats.LinkLatest(ctx, a.name, a.now)
	if err != nil {
		return nil, err
	}
	found, err := collect(clicks.Rows, shown)
	for _, c := range found {
		out = append(out, clickRow{c.At.UTC().Format("15:04:05"), c.At.UTC().Format(time.RFC3339), models.Visible(country(c.Country)),
			clip(models.Visible(cmp.Or(c.Referrer, "direct, or not told"))), c.Bot})
	}
	return out, err
}
