package models

import (
	"cmp"
	"crypto/md5" //nolint:gosec // a spread that a person can compute with md5sum, not a secret
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
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
	Features []string // one for each of the plan; empty where the visit lacks it
	Plan     *Plan    // what is kept of it; DefaultPlan if nil
}

func (v *Visit) plan() *Plan { return cmp.Or(v.Plan, defaultPlan) }

// EventID implements Event.
func (v *Visit) EventID() string { return v.ID }

// Identity implements Event.
func (v *Visit) Identity() Identity { return Identity{v.SiteID, v.GUID, v.ID} }

// KafkaKey implements Event.
func (v *Visit) KafkaKey() string { return v.SiteID + "|" + v.GUID }

// Time implements Event.
func (v *Visit) Time() time.Time { return v.TS.Time() }

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
	names := v.plan().features
	if len(v.Features) != len(names) {
		return &Invalid{ReasonWrongFeatures, fmt.Sprintf("%d features, want %d", len(v.Features), len(names))}
	}
	for i, f := range v.Features {
		if err := text(names[i], f, MaxFeature, false); err != nil {
			return err
		}
	}
	return nil
}

// interval is a period of time for which something is counted: how it starts, and the month of the key that it belongs to.
type interval struct {
	name, metric string
	start, month func(Millis) Millis
	row          func(Millis) Millis // the month of the visitor's row that has it
	place        int                 // in Ways
}

// uniques are the intervals in which a visitor counts once. A week belongs to the month of its Monday.
var uniques = []interval{
	{IntervalMonth, MonthUnique, Millis.Month, Millis.Month, Millis.Month, 0},
	{IntervalWeek, WeekUnique, Millis.Week, func(t Millis) Millis { return t.Week().Month() }, func(t Millis) Millis { return (t.Week() + 6*day).Month() }, 1},
	{IntervalDay, DayUnique, Millis.Day, Millis.Month, Millis.Month, 2},
}

// views are the intervals in which every visit counts.
var views = []interval{
	{metric: MonthViews, start: Millis.Month, month: Millis.Month},
	{metric: DayViews, start: Millis.Day, month: Millis.Month},
	{metric: HourViews, start: Millis.Hour, month: Millis.Month},
}

// Sightings implements Event: the guid in every interval whose uniques are kept, under every combination of features. Combinations are the
// inner loop.
func (v *Visit) Sightings() []Sighting {
	kept := v.plan().uniques
	if len(kept) == 0 {
		return nil
	}
	combinations := Combinations(v.Features)
	out := make([]Sighting, 0, len(kept)*len(combinations))
	for _, u := range kept {
		start := u.start(v.TS)
		for _, f := range combinations {
			out = append(out, Sighting{
				Keyspace: Cardinality, Name: v.SiteID, Visitor: v.GUID,
				Interval: u.name, Start: start, Features: f,
			})
		}
	}
	return out
}

// Count implements Event. Uniques are kept for every combination, views for the whole site and each single feature.
func (v *Visit) Count(first []bool, add func(Key, Cell, int64)) {
	plan, combinations := v.plan(), Combinations(v.Features)
	for i, u := range plan.uniques {
		start, month := u.start(v.TS), u.month(v.TS)
		for j, f := range combinations {
			if first[i*len(combinations)+j] {
				add(Key{Cardinality, v.SiteID, month, f}, Cell{Counter: u.metric, At: start}, 1)
			}
		}
	}
	for _, w := range plan.views {
		start, month := w.start(v.TS), w.month(v.TS)
		for _, f := range combinations {
			if f.fixed() <= 1 {
				add(Key{Cardinality, v.SiteID, month, f}, Cell{Counter: w.metric, At: start}, 1)
			}
		}
	}
}

// Bucket spreads the visitors of one site and month over 256 partitions. It is the first two hex digits of the guid's MD5, as
// `printf %s GUID | md5sum | cut -c1-2` prints them.
func Bucket(guid string) string {
	sum := md5.Sum([]byte(guid)) //nolint:gosec // see the import
	return bucketNames[sum[0]]
}

// bucketNames are 00 to ff, so that Bucket allocates nothing.
var bucketNames = func() (names [256]string) {
	for i := range names {
		names[i] = hex.EncodeToString([]byte{byte(i)})
	}
	return names
}()

// appendJSON takes the names of the features, which need no escapes.
func (v *Visit) appendJSON(dst []byte, names []string) []byte {
	dst = strconv.AppendInt(append(dst, `{"v":`...), int64(v.V), 10)
	dst = AppendText(append(dst, `,"id":`...), v.ID)
	dst = AppendText(append(dst, `,"siteId":`...), v.SiteID)
	dst = AppendText(append(dst, `,"guid":`...), v.GUID)
	dst = strconv.AppendInt(append(dst, `,"ts":`...), int64(v.TS), 10)
	for i, f := range v.Features {
		if f != "" {
			dst = append(append(append(dst, `,"`...), names[i]...), `":`...)
			dst = AppendText(dst, f)
		}
	}
	return append(dst, '}')
}

// fastVisit parses a visit.
func (p *Plan) fastVisit(data []byte) (visit *Visit, ok bool) {
	visit = &Visit{Features: make([]string, len(p.features)), Plan: p}
	var t fieldSetter
	var v int64
	ts := int64(Absent)
	ok = fastObject(data, func(name []byte, value literal) bool {
		switch string(name) {
		case "v":
			return t.number(visitV, &v, value) && int64(int(v)) == v
		case "id":
			return t.text(visitID, &visit.ID, value)
		case "siteId":
			return t.text(visitSiteID, &visit.SiteID, value)
		case "guid":
			return t.text(visitGUID, &visit.GUID, value)
		case "ts":
			return t.number(visitTS, &ts, value)
		}
		for i, feature := range p.features {
			if feature == string(name) {
				return t.text(visitFields+i, &visit.Features[i], value)
			}
		}
		return false
	})
	visit.V, visit.TS = int(v), Millis(ts)
	return visit, ok
}
