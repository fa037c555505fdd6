package page

import (
	"cmp"
	"context"
	"time"

	"footfall/models"
	"footfall/reader/plot"
	"footfall/reader/stats"
)

// linkShares is a link's clicks by country or referrer, of all time: no other is kept.
func (h *Handler) linkShares(ctx context.Context, a asked, by stats.Breakdown, clicks int64) (*breakdown, error) {
	limit := shown
	if a.q.Get("show") == string(by) {
		limit = topShown
	}
	read := limit + 1
	if by == stats.Countries {
		read = max(read, len(countries)) // all of them, for the map
	}
	shares, err := h.stats.LinkBreakdown(ctx, a.name, by, stats.Range{}, read)
	if err != nil {
		return nil, err
	}
	found, err := collect(shares.Rows, 0)
	if err != nil {
		return nil, err
	}
	v := &breakdown{ID: string(by), Heading: "Countries", Column: "Country", Unit: "Clicks", Note: "All time: by period they are not kept.", CSV: a.api("/"+string(by), "format", "csv")}
	name := countryAndCode
	if by == stats.Countries {
		v.Map, v.MapNote = worldMap(found)
	}
	if by == stats.Referrers {
		v.Heading, v.Column = "Referrers", "Referrer"
		name = func(text string) string { return cmp.Or(text, "direct, or not told") }
	}
	if len(found) > limit {
		if found = found[:limit]; limit == shown {
			v.More = a.with("show", string(by)) + "#" + string(by)
		}
	}
	v.Empty = "None yet."
	v.Rows = rows(found, clicks, name, nil)
	return v, nil
}

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
