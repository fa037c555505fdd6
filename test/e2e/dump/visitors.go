package dump

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"
)

// entryColumns are those of GuidData that are read. Each entry stands for rows of GuidData as it was described, one for each interval and combination,
// and is dumped as such: the same visitor of the same interval must not be in two. It was written from the comments in the migration.
const entryColumns = "siteId, month_interval_start, bucket, guid, kafka_partition, kafka_offset, seen"

func (d *Dump) cassandraVisitors(ctx context.Context, session *gocql.Session, suffix string, t table) error {
	scanner := session.Query("SELECT " + entryColumns + " FROM " + t.keyspace + suffix + "." + t.name).WithContext(ctx).PageSize(5000).Iter().Scanner()
	for scanner.Next() {
		var e entry
		if err := scanner.Scan(&e.site, &e.month, &e.bucket, &e.guid, &e.partition, &e.offset, &e.seen); err != nil {
			return err
		}
		if err := d.addEntry(t, e); err != nil {
			return err
		}
	}
	return scanner.Err()
}

func (d *Dump) sqliteVisitors(ctx context.Context, db *sql.DB, t table) (err error) {
	rows, err := db.QueryContext(ctx, "SELECT "+entryColumns+" FROM "+t.name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e entry
		var month, seen string
		if err := rows.Scan(&e.site, &month, &e.bucket, &e.guid, &e.partition, &e.offset, &seen); err != nil {
			return err
		}
		if e.month, err = time.Parse(time.DateOnly, month); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(seen), &e.seen); err != nil {
			return fmt.Errorf("%q: %w", seen, err)
		}
		if err := d.addEntry(t, e); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rowColumns are those of the key of GuidData, as it was described, before its features.
var rowColumns = []string{"siteid", "interval_size", "interval_start", "bucket", "guid"}

// entry is a row of GuidData.
type entry struct {
	site, bucket, guid string
	month              time.Time
	partition, offset  *int64
	seen               []string
}

func (d *Dump) addEntry(t table, e entry) error {
	rows, err := e.rows(len(t.key) - len(rowColumns))
	if err != nil {
		return fmt.Errorf("%+v: %w", e, err)
	}
	for _, row := range rows {
		if err := d.add(t, row, []*int64{e.partition, e.offset}); err != nil {
			return err
		}
	}
	return nil
}

// rows are the keys of the rows that the entry stands for.
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
