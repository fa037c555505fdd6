package main

import (
	"context"
	"errors"
	"fmt"

	"footfall/test/bench/workload"
)

// verify compares what a side says it has counted with what its tables hold. A fast counter that is wrong is none: footfall must
// be right to the last event and the last visitor, and so must be who counts both, and what is sent again; of the others it is told.
func (b *bench) verify(ctx context.Context, s side, t task, before int, m *measured) error {
	events, visitors, err := b.total(ctx, t)
	if err != nil {
		return err
	}
	off := events - before - m.Events
	if (s.processes > 0 || s.name == spark.name || s.name == limit.name) && (off != 0 || visitors != t.Uniques) {
		return fmt.Errorf("the tables are off by %+d events of %d, and %+d of %d uniques", off, m.Events, visitors-t.Uniques, t.Uniques)
	}
	if off < 0 || off > usualInFlight { // some may be half done when time is up
		if m.Note != "" {
			m.Note += "; "
		}
		m.Note += fmt.Sprintf("its tables are off by %+d events", off)
	}
	return nil
}

// total adds up what the tables say: all clicks and unique visitors of links, or the month's views of sites and their unique
// visitors by month and by day.
func (b *bench) total(ctx context.Context, t task) (events, visitors int, err error) {
	cql := newCQL(t.Suffix)
	if t.Clicks {
		events, err = b.sum(ctx, `SELECT value FROM `+cql.links+`.clickcounter`)
		if err == nil {
			visitors, err = b.sum(ctx, `SELECT value FROM `+cql.links+`.uniquecounter`)
		}
		return events, visitors, err
	}
	for site := range workload.Sites {
		of := func(metrics string) (int, error) {
			return b.sum(ctx, `SELECT visits FROM `+cql.sites+`.Counts WHERE siteId = ? AND month_interval_start = ? AND feature1 = ''`+
				` AND feature2 = '' AND metric_type IN (`+metrics+`)`, workload.SiteName(site), workload.Month)
		}
		views, err := of(`'month_views'`)
		if err != nil {
			return 0, 0, err
		}
		uniques, err := of(`'month_unique', 'day_unique'`)
		if err != nil {
			return 0, 0, err
		}
		events, visitors = events+views, visitors+uniques
	}
	return events, visitors, nil
}

func (b *bench) sum(ctx context.Context, cql string, args ...any) (sum int, err error) {
	rows := b.session.Query(cql, args...).WithContext(ctx).Iter().Scanner()
	for rows.Next() {
		var n *int // a counter that was never touched, in a row that has others
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
		if n != nil {
			sum += *n
		}
	}
	return sum, rows.Err()
}

// countHalf has a consumer count half of the topic or a little more, and leave in peace. It returns how many events that were:
// the next one knows no visitor and finds a ledger that it has to read.
func (b *bench) countHalf(ctx context.Context, t task) (int, error) {
	half := t
	half.Events /= 2
	if _, err := b.measureFootfall(ctx, half, 1); err != nil {
		return 0, err
	}
	done, _, err := b.total(ctx, t)
	if err == nil && done >= t.Events {
		err = errors.New("too few events: all were counted before the restart")
	}
	return done, err
}
