package main

import (
	"strings"
	"time"

	"github.com/gocql/gocql"

	"footfall/models"
)

// cqls writes the statements of the rivals, on the tables that footfall uses, but for byInterval.
type cqls struct{ links, sites string } // keyspaces

func newCQL(suffix string) cqls { return cqls{"urlshortener" + suffix, "cardinality" + suffix} }

// byInterval is the table that who begins would make of the description: a row for each interval and combination of features.
func (c cqls) byInterval() string {
	return `CREATE TABLE IF NOT EXISTS ` + c.sites + `.guids_by_interval (siteId text, interval_size text, interval_start timestamp, bucket text, guid text, feature1 text, feature2 text,` +
		` PRIMARY KEY ((siteId, interval_size, interval_start, bucket), guid, feature1, feature2))`
}

// visitorKey tells rows of visitors apart.
type visitorKey struct {
	of, visitor, feature1, feature2 string
	day                             models.Millis
}

// visitor writes the visitor of an event in the shape in which footfall remembers it, one row for an event of two features.
func (c cqls) visitor(e models.Event) (visitorKey, func() gocql.BatchEntry) {
	if click, is := e.(*models.Click); is {
		return visitorKey{of: click.ShortURL, visitor: click.IP}, func() gocql.BatchEntry {
			return gocql.BatchEntry{Stmt: `INSERT INTO ` + c.links + `.uniquecounterips (short_url, ip) VALUES (?, ?)`, Args: []any{click.ShortURL, click.IP}}
		}
	}
	v := e.(*models.Visit)
	return visitorKey{v.SiteID, v.GUID, v.Features[0], v.Features[1], v.TS.Day()}, func() gocql.BatchEntry {
		day := v.TS.Time().UTC().Format(time.DateOnly)
		return gocql.BatchEntry{Stmt: `INSERT INTO ` + c.sites + `.GuidData (siteId, month_interval_start, bucket, guid, under, topic, kafka_partition, kafka_offset, seen)` +
			` VALUES (?, ?, ?, ?, ?, 'visits', 0, 0, ?)`, Args: []any{v.SiteID, v.TS.Month().Time(), models.Bucket(v.GUID), v.GUID, strings.Join(append([]string{day}, v.Features...), "\x00"),
			append([]string{day, "month:f week:f day:f"}, v.Features...)}}
	}
}

// insert writes the row of one interval and combination.
func (c cqls) insert(s models.Sighting) (string, []any) {
	if s.Keyspace == models.URLShortener {
		return `INSERT INTO ` + c.links + `.uniquecounterips (short_url, ip) VALUES (?, ?)`, []any{s.Name, s.Visitor}
	}
	args := []any{s.Name, s.Interval, s.Start.Time(), models.Bucket(s.Visitor), s.Visitor}
	for _, f := range s.Features.Values() {
		args = append(args, f)
	}
	return `INSERT INTO ` + c.sites + `.guids_by_interval (siteId, interval_size, interval_start, bucket, guid, feature1, feature2)` +
		` VALUES (?, ?, ?, ?, ?, ?, ?)`, args
}

func (c cqls) update(key models.Key, cell models.Cell, n int64) (string, []any) {
	if key.Keyspace == models.Cardinality {
		args := []any{n, key.Name, key.Month.Time()}
		for _, f := range key.Features.Values() {
			args = append(args, f)
		}
		return `UPDATE ` + c.sites + `.Counts SET visits = visits + ? WHERE siteId = ? AND month_interval_start = ?` +
			` AND feature1 = ? AND feature2 = ? AND metric_type = ? AND interval_start = ?`, append(args, cell.Counter, cell.At.Time())
	}
	update := `UPDATE ` + c.links + `.` + cell.Counter + ` SET value = value + ? WHERE short_url = ?`
	switch cell.Counter {
	case models.HourCounters:
		return update + ` AND hour = ?`, []any{n, key.Name, cell.At.Time()}
	case models.DayCounters:
		return update + ` AND day = ?`, []any{n, key.Name, cell.At.Time()}
	case models.CountryCounters:
		return update + ` AND country = ?`, []any{n, key.Name, cell.Label}
	case models.ReferrerCounters:
		return update + ` AND referrer = ?`, []any{n, key.Name, cell.Label}
	}
	return update, []any{n, key.Name}
}
