package statstest

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"footfall/models"
	"footfall/reader/stats"
)

// Plan implements stats.Store.
func (m *Memory) Plan() *models.Plan { return m.plan }

// Link implements stats.Store.
func (m *Memory) Link(ctx context.Context, link string) (stats.LinkTotals, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cells := m.cells[models.LinkKey(link)]
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

// Points implements stats.Store.
func (m *Memory) Points(ctx context.Context, key models.Key, counter string, within stats.Range) iter.Seq2[stats.Point, error] {
	return asked(ctx, m, func() []stats.Point { return m.points(key, counter, within) })
}

// Shares implements stats.Store.
func (m *Memory) Shares(ctx context.Context, link, counter string, within stats.Range) iter.Seq2[stats.Share, error] {
	return asked(ctx, m, func() (out []stats.Share) {
		for cell, n := range m.cells[models.LinkKey(link)] {
			if cell.Counter == counter && within.Contains(cell.At) {
				out = append(out, stats.Share{Label: cell.Label, Count: n})
			}
		}
		slices.SortFunc(out, compareLabels)
		return out
	})
}

// Amounts implements stats.Store.
func (m *Memory) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	return asked(ctx, m, func() (out []stats.Amount) {
		key := models.LinkKey(link)
		for _, p := range m.points(key, models.NumValues, within) {
			out = append(out, stats.Amount{Start: p.Start, Num: p.Count, Sum: m.cells[key][models.Cell{Counter: models.SumValues, At: p.Start}]})
		}
		return out
	})
}

// Counts implements stats.Store.
func (m *Memory) Counts(ctx context.Context, key models.Key) (out []stats.Count, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for cell, n := range m.cells[key] {
		out = append(out, stats.Count{Metric: cell.Counter, Start: cell.At, Count: n})
	}
	return out, cmp.Or(m.err, ctx.Err())
}

// Ranked implements stats.Store.
func (m *Memory) Ranked(ctx context.Context, keys []models.Key, counter string, within stats.Range) ([]int64, error) {
	out := make([]int64, len(keys))
	for i, key := range keys {
		for p, err := range m.Points(ctx, key, counter, within) {
			if err != nil {
				return nil, err
			}
			out[i] += p.Count
		}
	}
	return out, ctx.Err()
}
