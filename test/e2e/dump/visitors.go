package dump

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"
)

// cassandraVisitors reads the table visitors_by_month. Each entry stands for rows of GuidData in SQLite, and is dumped as such: the same visitor of the
// same interval must not be in two. It was written from the description in the migration.
func (d *Dump) cassandraVisitors(ctx context.Context, session *gocql.Session, suffix string, guidData table) error {
	scanner := session.Query(`SELECT siteId, month_interval_start, bucket, guid, kafka_partition, kafka_offset, seen FROM ` +
		guidData.keyspace + suffix + `.visitors_by_month`).
		WithContext(ctx).PageSize(5000).Iter().Scanner()
	for scanner.Next() {
		var e entry
		var partition, offset *int64
		if err := scanner.Scan(&e.site, &e.month, &e.bucket, &e.guid, &partition, &offset, &e.seen); err != nil {
			return err
		}
		rows, err := e.rows(len(guidData.key) - len(rowColumns))
		if err != nil {
			return fmt.Errorf("%+v: %w", e, err)
		}
		for _, row := range rows {
			if err := d.add(guidData, row, []*int64{partition, offset}); err != nil {
				return err
			}
		}
	}
	return scanner.Err()
}

// rowColumns are those of the key of GuidData before its features.
var rowColumns = []string{"siteid", "interval_size", "interval_start", "bucket", "guid"}

// entry is a row of visitors_by_month.
type entry struct {
	site, bucket, guid string
	month              time.Time
	seen               []string
}

// rows are the keys of the rows of GuidData that the entry stands for.
func (e entry) rows(features int) (rows [][]any, err error) {
	if len(e.seen) != 2+features {
		return nil, fmt.Errorf("%d values, want a day, what was new, and %d features", len(e.seen), features)
	}
	day, err := time.Parse("2006-01-02", e.seen[0])
	if err != nil {
		return nil, err
	}
	for _, part := range strings.Split(e.seen[1], " ") {
		size, digits, _ := strings.Cut(part, ":")
		set, err := strconv.ParseUint(digits, 16, 64)
		if err != nil {
			return nil, err
		}
		start, last := interval(size, day)
		if last.Year() != e.month.Year() || last.Month() != e.month.Month() || e.month.Day() != 1 {
			return nil, fmt.Errorf("the %s of %s ends in another month", size, e.seen[0])
		}
		for bit := range 64 {
			if set>>bit&1 == 0 {
				continue
			}
			row := []any{e.site, size, start, e.bucket, e.guid}
			for i, value := range e.seen[2:] {
				if bit>>i&1 == 0 {
					value = ""
				} else if value == "" {
					return nil, fmt.Errorf("combination %d keeps a feature that the event did not have", bit)
				}
				row = append(row, value)
			}
			if bit >= 1<<features || slices.ContainsFunc(rows, func(other []any) bool { return slices.Equal(other, row) }) {
				return nil, fmt.Errorf("combination %d is not one of %d features, or is there twice", bit, features)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// interval returns the first and the last day of the month, week or day that a day is in.
func interval(size string, day time.Time) (start, last time.Time) {
	switch size {
	case "month":
		start = day.AddDate(0, 0, 1-day.Day())
		return start, start.AddDate(0, 1, -1)
	case "week":
		start = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		return start, start.AddDate(0, 0, 6)
	case "day":
		return day, day
	}
	return time.Time{}, time.Time{}
}
