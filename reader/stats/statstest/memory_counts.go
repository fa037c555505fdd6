package statstest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"footfall/models"
	"footfall/reader/stats"
)

// Plan implements stats.Store.
func (m *Memory) Plan() *models.Plan { return m.plan }

func linkKey(link string) models.Key { return models.Key{Keyspace: models.URLShortener, Name: link} }

// Link implements stats.Store.
func (m *Memory) Link(ctx context.Context, link string) (stats.LinkTotals, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cells := m.cells[linkKey(link)]
	return stats.LinkTotals{
		LongURL: m.long[link],
		Clicks:  cells[models.Cell{Counter: models.ClickCounter}],
		Unique:  cells[models.Cell{Counter: models.UniqueCounter}],
		Bots:    cells[models.Cell{Counter: models.BotCounter}],
	}, cmp.Or(m.err, ctx.Err())
}

// points are the counters of a key, oldest first. The lock is held.
func (m *Memory) points(key models.Key, counter string, within stats.Range) (out []stats.Point) {
	for cell, n := range m.cells[key] {
		if cell.Counter == counter && within.Contains(cell.At) {
			out = append(out, stats.Point{Start: cell.At, Count: n})
		}
	}
	slices.SortFunc(out, func(a, b stats.Point) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// Clicks implements stats.Store.
func (m *Memory) Clicks(ctx context.Context, link string, unit stats.Unit, within stats.Range) iter.Seq2[stats.Point, error] {
	counter := models.DayCounters
	if unit == stats.Hour {
		counter = models.HourCounters
	}
	return asked(ctx, m, func() []stats.Point { return m.points(linkKey(link), counter, within) })
}

func (m *Memory) shares(ctx context.Context, link, counter string) iter.Seq2[stats.Share, error] {
	return asked(ctx, m, func() (out []stats.Share) {
		for cell, n := range m.cells[linkKey(link)] {
			if cell.Counter == counter {
				out = append(out, stats.Share{Label: cell.Label, Count: n})
			}
		}
		slices.SortFunc(out, compareLabels)
		return out
	})
}

// Countries implements stats.Store.
func (m *Memory) Countries(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return m.shares(ctx, link, models.CountryCounters)
}

// Referrers implements stats.Store.
func (m *Memory) Referrers(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return m.shares(ctx, link, models.ReferrerCounters)
}

// Amounts implements stats.Store.
func (m *Memory) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	return asked(ctx, m, func() (out []stats.Amount) {
		key := linkKey(link)
		for _, p := range m.points(key, models.NumValues, within) {
			out = append(out, stats.Amount{Start: p.Start, Num: p.Count, Sum: m.cells[key][models.Cell{Counter: models.SumValues, At: p.Start}]})
		}
		return out
	})
}

// RankedLinks implements stats.Store.
func (m *Memory) RankedLinks(ctx context.Context, links []string, day models.Millis) ([]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]int64, len(links))
	for i, link := range links {
		out[i] = m.cells[linkKey(link)][models.Cell{Counter: models.DayCounters, At: day}]
	}
	return out, cmp.Or(m.err, ctx.Err())
}

// siteKey is the key as counted; false if a value cannot be one.
func siteKey(key stats.SiteKey) (models.Key, bool) {
	for _, value := range key.Features {
		if strings.Contains(value, "\x00") {
			return models.Key{}, false
		}
	}
	return models.Key{Keyspace: models.Cardinality, Name: key.Site, Month: key.Month, Features: models.NewFeatures(key.Features...)}, true
}

// Visits implements stats.Store.
func (m *Memory) Visits(ctx context.Context, key stats.SiteKey, metric string, within stats.Range) iter.Seq2[stats.Point, error] {
	return asked(ctx, m, func() []stats.Point {
		k, ok := siteKey(key)
		if !ok {
			return nil
		}
		return m.points(k, metric, within)
	})
}

// Counts implements stats.Store.
func (m *Memory) Counts(ctx context.Context, key stats.SiteKey) (out []stats.Count, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := siteKey(key); ok {
		for cell, n := range m.cells[k] {
			out = append(out, stats.Count{Metric: cell.Counter, Start: cell.At, Count: n})
		}
	}
	return out, cmp.Or(m.err, ctx.Err())
}

// Ranked implements stats.Store.
func (m *Memory) Ranked(ctx context.Context, keys []stats.SiteKey, metric string, within stats.Range) ([]int64, error) {
	out := make([]int64, len(keys))
	for i, key := range keys {
		for p, err := range m.Visits(ctx, key, metric, within) {
			if err != nil {
				return nil, err
			}
			out[i] += p.Count
		}
	}
	return out, ctx.Err()
}
