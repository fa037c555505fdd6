// Package visitorrow has the table visitors_by_month as CQL writes and reads it: which columns an entry has, how its ways are written, and which
// sighting is in which entry. It does no I/O.
package visitorrow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"footfall/internal/cql"
	"footfall/models"
)

// Table is the table of one keyspace. It is immutable, and safe for concurrent use.
type Table struct {
	Name     string // with its keyspace
	features int
}

// Of is the table in a keyspace, for a plan.
func Of(keyspace string, plan *models.Plan) Table {
	return Table{keyspace + ".visitors_by_month", len(plan.Features())}
}

// Value is the only column that is not in the primary key.
const Value = "seen"

// PartitionKey are the columns of the partition key.
const PartitionKey = `siteId, month_interval_start, bucket`

// Where selects one Cassandra partition. Partition.Args are its values.
const Where = ` WHERE siteId = ? AND month_interval_start = ? AND bucket = ?`

// Partition is one Cassandra partition of the table.
type Partition struct {
	Site   string
	Month  models.Millis
	Bucket string
}

// PartitionOf is where a visitor's rows are.
func PartitionOf(v models.Visitor) Partition {
	return Partition{v.Site, v.Month, models.Bucket(v.GUID)}
}

// Args are the values of the partition key.
func (p Partition) Args() []any { return []any{p.Site, p.Month.Time(), p.Bucket} }

// AppendKey appends the partition key as CQL encodes it.
func (p Partition) AppendKey(to []byte) []byte {
	return cql.AppendColumn(cql.AppendMillis(cql.AppendColumn(to, p.Site), int64(p.Month)), p.Bucket)
}

// Insert is the statement that writes an entry. Its values are those of Args, and those of AppendEntry.
func (t Table) Insert() string {
	return `INSERT INTO ` + t.Name + ` (` + PartitionKey + `, ` + entryColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
}

const entryColumns = `guid, under, topic, kafka_partition, kafka_offset, ` + Value

// AppendEntry appends the values of an entry of a visitor's row.
func AppendEntry(args []any, v models.Visitor, f models.First) []any {
	seen := append(make([]string, 0, 2+len(f.Features)), f.Day.Time().Format(time.DateOnly), waysText(f.Of))
	return append(args, v.GUID, string(v.Under), f.At.Topic, f.At.Partition, f.At.Offset, append(seen, f.Features...))
}

// Select is the beginning of a statement whose rows an Entry can scan.
func (t Table) Select() string { return `SELECT ` + entryColumns + ` FROM ` + t.Name }

// Entry is where a row of Select is scanned to. It is not safe for concurrent use.
type Entry struct {
	GUID     string
	Under    string
	at       models.Position
	seen     []string
	features int
}

// NewEntry makes an entry for rows of the table.
func (t Table) NewEntry() *Entry { return &Entry{features: t.features} }

// Columns are what to scan a row to.
func (e *Entry) Columns() []any {
	e.seen = nil // or the next row would be scanned into the features of the last
	return []any{&e.GUID, &e.Under, &e.at.Topic, &e.at.Partition, &e.at.Offset, &e.seen}
}

// First is the entry of the row that was scanned last. It is false for a row that somebody inserted by hand and that remembers nothing that can
// be read.
func (e *Entry) First() (models.First, bool) {
	if len(e.seen) != 2+e.features {
		return models.First{}, false
	}
	day, err := time.Parse(time.DateOnly, e.seen[0])
	of, ok := readWays(e.seen[1])
	if !ok || err != nil {
		return models.First{}, false
	}
	at := e.at
	if at.Topic == "" {
		at = models.Position{Partition: -1, Offset: -1} // by hand as well: the visitor was seen, but by no event of the log
	}
	return models.First{At: at, Day: models.Millis(day.UnixMilli()), Features: e.seen[2:], Of: of}, true
}

// intervals are the names of the places in models.Ways.
var intervals = [...]string{models.IntervalMonth, models.IntervalWeek, models.IntervalDay}

// starts are when these intervals begin.
var starts = [...]func(models.Millis) models.Millis{models.Millis.Month, models.Millis.Week, models.Millis.Day}

// waysText writes ways, such as month:f week:f day:f. Intervals without a combination are left out.
func waysText(of models.Ways) string {
	text := make([]byte, 0, len("month:f week:f day:f"))
	for i, set := range of {
		if set == 0 {
			continue
		}
		if len(text) > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendUint(append(append(text, intervals[i]...), ':'), set, 16)
	}
	return string(text)
}

func readWays(text string) (of models.Ways, ok bool) {
	for part := range strings.SplitSeq(text, " ") {
		name, digits, _ := strings.Cut(part, ":")
		place := slices.Index(intervals[:], name)
		set, err := strconv.ParseUint(digits, 16, 64)
		if place < 0 || err != nil {
			return models.Ways{}, false
		}
		of[place] |= set
	}
	return of, true
}

// Has tells whether an entry of one of the sighting's rows has the sighting.
func Has(f models.First, s models.Sighting) bool {
	_, place := s.Row()
	if f.Of[place] == 0 || starts[place](f.Day) != s.Start {
		return false
	}
	kept := s.Features.Values()
	return f.Of[place]&(1<<models.Present(kept)) != 0 && keeps(f.Features, kept)
}

// keeps tells whether the combination keeps only values that the features have.
func keeps(features, kept []string) bool {
	for i, value := range kept {
		if value != "" && (i >= len(features) || features[i] != value) {
			return false
		}
	}
	return true
}
