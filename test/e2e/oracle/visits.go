package oracle

import (
	"crypto/md5"
	"fmt"
	"time"

	"footfall/models"
)

const cardinality = "cardinality."

// visit counts one visit under every combination of its features: none, each one, each pair, and so on.
func (o *Oracle) visit(e *models.Visit) {
	if len(e.Features) != len(o.features) {
		panic(fmt.Sprintf("a visit with %d features, want %d", len(e.Features), len(o.features)))
	}
	moment := time.UnixMilli(int64(e.TS)).UTC()
	midnight := startOfDay(moment)
	fullHour := midnight.Add(time.Duration(moment.Hour()) * time.Hour)
	first := startOfMonth(moment)
	monday := midnight
	for monday.Weekday() != time.Monday {
		monday = monday.AddDate(0, 0, -1)
	}

	for _, chosen := range choices(e.Features) {
		o.unique(e, chosen, "month", first, first)
		o.unique(e, chosen, "week", monday, startOfMonth(monday)) // filed under the month of its Monday
		o.unique(e, chosen, "day", midnight, first)

		named := 0
		for _, value := range chosen {
			if value != "" {
				named++
			}
		}
		if named > 1 {
			continue // views are kept for the site and for single features
		}
		o.view(e, chosen, "month_views", first, first)
		o.view(e, chosen, "day_views", first, midnight)
		o.view(e, chosen, "hour_views", first, fullHour)
	}
}

// unique counts the visitor unless it already has a row.
func (o *Oracle) unique(e *models.Visit, features []string, interval string, start, month time.Time) {
	metric := interval + "_unique"
	if o.kept != nil && !o.kept[metric] {
		return
	}
	bucket := fmt.Sprintf("%x", md5.Sum([]byte(e.GUID)))[:2]
	row := Name(cardinality+"guiddata", append([]any{"siteid", e.SiteID, "interval_size", interval, "interval_start", start,
		"bucket", bucket, "guid", e.GUID}, o.columns(features)...)...)
	if _, known := o.cells[row]; known {
		return
	}
	o.cells[row] = 1
	o.cells[o.counts(e.SiteID, month, features, metric, start)]++
}

func (o *Oracle) view(e *models.Visit, features []string, metric string, month, start time.Time) {
	if o.kept == nil || o.kept[metric] {
		o.cells[o.counts(e.SiteID, month, features, metric, start)]++
	}
}

func (o *Oracle) counts(site string, month time.Time, features []string, metric string, start time.Time) string {
	columns := append([]any{"siteid", site, "month_interval_start", month}, o.columns(features)...)
	return Name(cardinality+"counts", append(columns, "metric_type", metric, "interval_start", start)...)
}

// columns names the features' values.
func (o *Oracle) columns(values []string) []any {
	var out []any
	for i, name := range o.features {
		out = append(out, name, values[i])
	}
	return out
}

// choices are all combinations of features: each feature that has a value is given or left out (""), the others are left out.
func choices(features []string) [][]string {
	if len(features) == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for _, rest := range choices(features[1:]) {
		out = append(out, append([]string{""}, rest...))
		if features[0] != "" {
			out = append(out, append([]string{features[0]}, rest...))
		}
	}
	return out
}

func startOfDay(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func startOfMonth(t time.Time) time.Time {
	return startOfDay(t).AddDate(0, 0, 1-t.Day())
}
