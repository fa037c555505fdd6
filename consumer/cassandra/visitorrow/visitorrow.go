// Package visitorrow has partitions and entries of the table GuidData as CQL writes and reads them. It does no I/O.
package visitorrow

import (
	"footfall/internal/cql"
	"footfall/models"
)

// Table is the declared table.
var Table = models.TableOf(models.Cardinality, models.SiteVisitors)

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

// AppendEntry appends the values of an entry of a visitor's row: those of the table after the partition key.
func AppendEntry(args []any, v models.Visitor, f models.First) []any {
	return append(args, v.GUID, string(v.Under), f.At.Topic, f.At.Partition, f.At.Offset, f.Seen())
}

// Entry is where the columns of a row after the partition key are scanned to. It is not safe for concurrent use.
type Entry struct {
	GUID  string
	Under string
	at    models.Position
	seen  []string
}

// Columns are what to scan rows to.
func (e *Entry) Columns() []any {
	return []any{&e.GUID, &e.Under, &e.at.Topic, &e.at.Partition, &e.at.Offset, &e.seen}
}

// First is the entry of the row that was scanned last, as models.ReadFirst reads it for so many features.
func (e *Entry) First(features int) (models.First, bool) {
	seen := e.seen
	e.seen = nil // or the next row would be scanned into the features of this one
	return models.ReadFirst(e.at, seen, features)
}
