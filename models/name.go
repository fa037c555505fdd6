package models

import (
	"crypto/md5" //nolint:gosec // as in visit.go
	"slices"
	"strings"
)

// The lists of what was counted, by day or month: one table each.
const (
	LinksByDay    = "links_by_day"
	SitesByMonth  = "sites_by_month"
	ValuesByMonth = "values_by_month"
)

// Lists are the tables of these lists.
var Lists = []Table{TableOf(URLShortener, LinksByDay), TableOf(Cardinality, SitesByMonth), TableOf(Cardinality, ValuesByMonth)}

// Table is the table of the name's list.
func (n Name) Table() Table {
	return Lists[slices.IndexFunc(Lists, func(t Table) bool { return t.Name == n.List })]
}

// Name is one row of a list: counters of that link, site or value exist in that period. It is a fact that a replay writes again as it is.
type Name struct {
	List    string
	Start   Millis // of the day (LinksByDay) or of the month
	Site    string // ValuesByMonth only: the site that has the value
	Feature string // ValuesByMonth only: the feature's name, which is its column in Counts
	Value   string // short_url, siteId, or the feature's value
}

// Bucket is the bucket that the name is listed under; empty for sites, which have none.
func (n Name) Bucket() string {
	if n.List == SitesByMonth {
		return ""
	}
	return NameBucket(n.Value)
}

// Partition is the same for all names of a partition, and for no others: the name without its value, but with its bucket.
func (n Name) Partition() Name {
	n.Value = n.Bucket()
	return n
}

// Append appends the values of the columns of its row, the partition's first. at makes of a moment what the database stores.
func (n Name) Append(args []any, at func(Millis) any) []any {
	switch n.List {
	case LinksByDay:
		return append(args, at(n.Start), n.Bucket(), n.Value)
	case SitesByMonth:
		return append(args, at(n.Start), n.Value)
	}
	return append(args, n.Site, at(n.Start), n.Feature, n.Bucket(), n.Value)
}

// NameRange is the names from one to another, both included, in the order of their bytes.
type NameRange struct{ From, To string }

// NamesWith are the names with this beginning; empty: all names. No name of 128 bytes comes after To.
func NamesWith(beginning string) NameRange {
	return NameRange{beginning, beginning + strings.Repeat("\U0010FFFF", 32)}
}

// Has tells whether a name is in the range.
func (r NameRange) Has(name string) bool { return r.From <= name && name <= r.To }

// NameBucket spreads the names of one list and period over 16 partitions: the first hex digit of the MD5, which a person gets with
// `printf %s NAME | md5sum | cut -c1`.
func NameBucket(name string) string {
	sum := md5.Sum([]byte(name)) //nolint:gosec // see the import
	return bucketNames[sum[0]][:1]
}

// NameBuckets are all that NameBucket returns, in order.
func NameBuckets() []string { return strings.Split("0123456789abcdef", "") }

// Names tells add which rows of the lists say that a key has these cells. A link is listed by the days of its daycounters, so that one with clicks
// of bots only is not. A site is listed by its key without features, a value by the key that has this feature alone; every other
// combination has these keys too.
func (p *Plan) Names(key Key, cells map[Cell]int64, add func(Name)) {
	if key.Keyspace == URLShortener {
		var few [4]Millis
		days := few[:0]
		for cell := range cells {
			if cell.Counter == DayCounters {
				days = append(days, cell.At)
			}
		}
		slices.Sort(days) // each run does the same in the same order, so that the simulation can replay a fault
		for _, day := range days {
			add(Name{List: LinksByDay, Start: day, Value: key.Name})
		}
		return
	}
	if len(cells) == 0 {
		return
	}
	switch key.Features.fixed() {
	case 0:
		add(Name{List: SitesByMonth, Start: key.Month, Value: key.Name})
	case 1:
		value := strings.TrimLeft(string(key.Features), featureSeparator)
		feature := p.features[len(key.Features)-len(value)] // a separator for each feature before it
		add(Name{List: ValuesByMonth, Start: key.Month, Site: key.Name, Feature: feature, Value: strings.TrimRight(value, featureSeparator)})
	}
}
