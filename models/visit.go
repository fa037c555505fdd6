package models

import (
	"crypto/md5" //nolint:gosec // a spread that a person can compute with md5sum, not a secret
	"encoding/hex"
	"strconv"
)

// The intervals in which a visitor is counted once.
const (
	IntervalMonth = "month"
	IntervalWeek  = "week"
	IntervalDay   = "day"
)

// The metric types of Counts.
const (
	MonthUnique = "month_unique"
	WeekUnique  = "week_unique"
	DayUnique   = "day_unique"
	MonthViews  = "month_views"
	DayViews    = "day_views"
	HourViews   = "hour_views"
)

// Visit is one page view by a visitor of a site.
type Visit struct {
	V        int
	ID       string
	SiteID   string
	GUID     string
	TS       Millis
	Features []string // FeatureCount of them; empty where the visit lacks one
}

// EventID implements Event.
func (v *Visit) EventID() string { return v.ID }

// KafkaKey implements Event.
func (v *Visit) KafkaKey() string { return v.SiteID + "|" + v.GUID }

// Validate implements Event.
func (v *Visit) Validate() error {
	err := firstError(
		version(v.V),
		text("id", v.ID, MaxID, true),
		text("site_id", v.SiteID, MaxSiteID, true),
		text("guid", v.GUID, MaxGUID, true),
		timestamp(v.TS),
	)
	if err != nil {
		return err
	}
	for i, f := range v.Features {
		if err := text("feature"+strconv.Itoa(i+1), f, MaxFeature, false); err != nil {
			return err
		}
	}
	return nil
}

// unique is one interval in which a visitor counts once, and the key's month that it is filed under.
type unique struct {
	interval, metric string
	start, month     Millis
}

// uniques lists the intervals of a moment. A week belongs to the month its Monday is in.
func uniques(ts Millis) [3]unique {
	month, week := ts.Month(), ts.Week()
	return [3]unique{
		{IntervalMonth, MonthUnique, month, month},
		{IntervalWeek, WeekUnique, week, week.Month()},
		{IntervalDay, DayUnique, ts.Day(), month},
	}
}

// Sightings implements Event: the guid in every interval under every combination, combinations innermost.
func (v *Visit) Sightings() []Sighting {
	combinations := Combinations(v.Features)
	out := make([]Sighting, 0, 3*len(combinations))
	for _, u := range uniques(v.TS) {
		for _, f := range combinations {
			out = append(out, Sighting{
				Keyspace: Cardinality, Name: v.SiteID, Visitor: v.GUID,
				Interval: u.interval, Start: u.start, Features: f,
			})
		}
	}
	return out
}

// Count implements Event. Uniques are kept for every combination, views for the whole site and each single feature.
func (v *Visit) Count(first []bool, add func(Key, Cell, int64)) {
	combinations := Combinations(v.Features)
	for i, u := range uniques(v.TS) {
		for j, f := range combinations {
			if first[i*len(combinations)+j] {
				add(Key{Cardinality, v.SiteID, u.month, f}, Cell{Counter: u.metric, At: u.start}, 1)
			}
		}
	}
	for _, f := range combinations {
		if f.fixed() > 1 {
			continue
		}
		key := Key{Cardinality, v.SiteID, v.TS.Month(), f}
		add(key, Cell{Counter: MonthViews, At: v.TS.Month()}, 1)
		add(key, Cell{Counter: DayViews, At: v.TS.Day()}, 1)
		add(key, Cell{Counter: HourViews, At: v.TS.Hour()}, 1)
	}
}

// Bucket spreads the visitors of one site and interval over 256 partitions of GuidData: the first two hex digits of the
// guid's MD5, which a person gets with `printf %s GUID | md5sum | cut -c1-2`.
func Bucket(guid string) string {
	sum := md5.Sum([]byte(guid)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:1])
}
