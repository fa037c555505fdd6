// Package visitorrow has the table GuidData as CQL writes and reads it. It does no I/O.
package visitorrow

import (
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
	return Table{keyspace + ".GuidData", len(plan.Features())}
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
	return append(args, v.GUID, string(v.Under), f.At.Topic, f.At.Partition, f.At.Offset, f.Seen())
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

// First is the entry of the row that was scanned last, as models.ReadFirst reads it.
func (e *Entry) First() (models.First, bool) { return models.ReadFirst(e.at, e.seen, e.features) }
