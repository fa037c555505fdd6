package oracle

import (
	"crypto/md5"
	"fmt"
	"time"

	"footfall/models"
)

const cardinality = "cardinality."

// visit counts one visit under every combination of its features: none, the first, the second, both.
func (c Cells) visit(e *models.Visit) {
	moment := time.UnixMilli(int64(e.TS)).UTC()
	midnight := startOfDay(moment)
	fullHour := midnight.Add(time.Duration(moment.Hour()) * time.Hour)
	first := startOfMonth(moment)
	monday := midnight
	for monday.Weekday() != time.Monday {
		monday = monday.AddDate(0, 0, -1)
	}

	for _, f1 := range orAny(e.Features[0]) {
		for _, f2 := range orAny(e.Features[1]) {
			c.unique(e, f1, f2, "month", first, first)
			c.unique(e, f1, f2, "week", monday, startOfMonth(monday)) // filed under the month of its Monday
			c.unique(e, f1, f2, "day", midnight, first)

			if f1 != "" && f2 != "" {
				continue // views are kept for the site and for single features
			}
			c[counts(e.SiteID, first, f1, f2, "month_views", first)]++
			c[counts(e.SiteID, first, f1, f2, "day_views", midnight)]++
			c[counts(e.SiteID, first, f1, f2, "hour_views", fullHour)]++
		}
	}
}

// unique counts the visitor where its row is not there yet.
func (c Cells) unique(e *models.Visit, f1, f2, interval string, start, month time.Time) {
	bucket := fmt.Sprintf("%x", md5.Sum([]byte(e.GUID)))[:2]
	row := Name(cardinality+"guiddata", "siteid", e.SiteID, "interval_size", interval, "interval_start", start,
		"bucket", bucket, "guid", e.GUID, "feature1", f1, "feature2", f2)
	if _, known := c[row]; known {
		return
	}
	c[row] = 1
	c[counts(e.SiteID, month, f1, f2, interval+"_unique", start)]++
}

func counts(site string, month time.Time, f1, f2, metric string, start time.Time) string {
	return Name(cardinality+"counts", "siteid", site, "month_interval_start", month, "feature1", f1, "feature2", f2,
		"metric_type", metric, "interval_start", start)
}

// orAny is what a feature may stand as in a combination: as "any", and as itself if it is there.
func orAny(feature string) []string {
	if feature == "" {
		return []string{""}
	}
	return []string{"", feature}
}

func startOfDay(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func startOfMonth(t time.Time) time.Time {
	return startOfDay(t).AddDate(0, 0, 1-t.Day())
}
