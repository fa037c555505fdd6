package main

import (
	"context"
	"fmt"
)

// verify compares what a side says it has counted with what its tables hold. A fast counter that is wrong is none: footfall must
// be right to the last event, of the others it is told.
func (b *bench) verify(ctx context.Context, s side, t task, before int, m *measured) error {
	total, err := b.total(ctx, t)
	if err != nil {
		return err
	}
	off := total - before - m.Events
	if off != 0 && s.processes > 0 {
		return fmt.Errorf("the tables are off by %d events of %d", off, m.Events)
	}
	if off != 0 {
		m.Note = fmt.Sprintf("%s; its tables are off by %+d events", m.Note, off)
	}
	return nil
}

// total adds up what the tables say: all clicks, or all views of sites.
func (b *bench) total(ctx context.Context, t task) (sum int, err error) {
	cql := newCQL(t.Suffix)
	query := `SELECT value FROM ` + cql.links + `.clickcounter`
	if !t.Clicks {
		query = `SELECT visits FROM ` + cql.sites + `.Counts WHERE feature1 = '' AND feature2 = '' AND metric_type = 'month_views' ALLOW FILTERING`
	}
	rows := b.session.Query(query).WithContext(ctx).Iter().Scanner()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, rows.Err()
}

// countHalf has a consumer count half of the topic and leave in peace. It returns how many events that were: the next one knows
// no visitor and finds a ledger that it has to read.
func (b *bench) countHalf(ctx context.Context, t task) (int, error) {
	half := t
	half.Events /= 2
	if _, err := b.measureFootfall(ctx, half, 1); err != nil {
		return 0, err
	}
	return b.total(ctx, t)
}
