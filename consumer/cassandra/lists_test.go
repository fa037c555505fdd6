package cassandra

import (
	"context"
	"errors"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/internal/tables"
	"footfall/models"
)

// lists reads what was listed, as a reader of counts would.
type lists struct{ *Store }

// Names implements storetest.Lists.
func (l lists) Names(ctx context.Context, of models.Name) (values []string, err error) {
	query := map[string]string{
		models.LinksByDay:    `SELECT short_url FROM ` + l.names.URLShortener + `.links_by_day WHERE day = ? AND bucket = ?`,
		models.SitesByMonth:  `SELECT siteId FROM ` + l.names.Cardinality + `.sites_by_month WHERE month_interval_start = ?`,
		models.ValuesByMonth: `SELECT value FROM ` + l.names.Cardinality + `.values_by_month WHERE siteId = ? AND month_interval_start = ? AND feature = ? AND bucket = ?`,
	}
	args := of.Append(nil, tables.Moment)
	scanner := l.session.Query(query[of.List], args[:len(args)-1]...).WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		var value string
		if err := scanner.Scan(&value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, scanner.Err()
}

// Progress implements storetest.Lists.
func (l lists) Progress(ctx context.Context, p models.Partition) (store.Progress, bool, error) {
	row := store.Progress{Partition: p}
	var eventTime *time.Time
	err := l.session.Query(`SELECT counted, log_end, event_time, at FROM `+l.names.Footfall+`.progress WHERE name = 'counted' AND topic = ? AND kafka_partition = ?`,
		p.Topic, p.Number).WithContext(ctx).Scan(&row.Counted, &row.LogEnd, &eventTime, &row.At)
	if errors.Is(err, gocql.ErrNotFound) {
		return row, false, nil
	}
	if eventTime != nil {
		row.EventTime = *eventTime
	}
	return row, err == nil, err
}
