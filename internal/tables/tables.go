// Package tables writes statements about the tables that models declares, as far as CQL and SQL have them in common, and puts keys and cells
// into the order of their columns.
package tables

import (
	"strings"

	"footfall/models"
)

// Schema is a set of tables. It is immutable, and safe for concurrent use.
type Schema struct {
	Suffix string // of the keyspaces' names
	Plan   *models.Plan
}

// Name is a table with its keyspace.
func (s Schema) Name(t models.Table) string { return string(t.Keyspace) + s.Suffix + "." + t.Name }

// Equal compares columns with parameters.
func (s Schema) Equal(lists ...[]models.Column) string {
	return strings.Join(s.Plan.ColumnNames(lists...), " = ? AND ") + " = ?"
}

// List is columns, separated by commas.
func (s Schema) List(lists ...[]models.Column) string {
	return strings.Join(s.Plan.ColumnNames(lists...), ", ")
}

// Select reads columns of a table where others equal parameters. More can be added to it.
func (s Schema) Select(t models.Table, columns string, where ...[]models.Column) string {
	return "SELECT " + columns + " FROM " + s.Name(t) + " WHERE " + s.Equal(where...)
}

// Insert writes a row of a table.
func (s Schema) Insert(t models.Table) string {
	columns := s.Plan.Columns(t.Partition, t.Rows, t.Values)
	return "INSERT INTO " + s.Name(t) + " (" + s.List(columns) + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
}

// Cells reads columns of a counter's cells, of one key and within a range of time if it has an interval. AppendRange has the parameters after the
// key's.
func (s Schema) Cells(c models.Counter, selected string) string {
	t := models.TableOf(c.Keyspace, c.Table)
	return s.Select(t, selected, t.Partition) + s.Range(c)
}

// Range is the condition of Cells after that of the key.
func (s Schema) Range(c models.Counter) (where string) {
	for _, column := range c.Rows() {
		switch column.Kind {
		case models.KindTag:
			where += " AND " + column.Name + " = ?"
		case models.KindTime:
			where += " AND " + column.Name + " >= ? AND " + column.Name + " < ?"
		}
	}
	return where
}

// AppendRange appends the parameters of Range.
func AppendRange(args []any, c models.Counter, from, to any) []any {
	for _, column := range c.Rows() {
		switch column.Kind {
		case models.KindTag:
			args = append(args, c.Name)
		case models.KindTime:
			args = append(args, from, to)
		}
	}
	return args
}

// Moment is a moment as CQL's driver stores it.
func Moment(t models.Millis) any { return t.Time() }

// AppendKey appends the values of the columns of a key. at makes of a moment what the database stores.
func AppendKey(args []any, key models.Key, at func(models.Millis) any) []any {
	if key.Keyspace == models.URLShortener {
		return append(args, key.Name)
	}
	args = append(args, key.Name, at(key.Month))
	for _, value := range key.Features.Values() {
		args = append(args, value)
	}
	return args
}

// AppendCell appends the values of the columns that tell a counter's cells apart (models.Counter.Rows).
func AppendCell(args []any, columns []models.Column, cell models.Cell, at func(models.Millis) any) []any {
	for _, column := range columns {
		switch column.Kind {
		case models.KindTag:
			args = append(args, cell.Counter)
		case models.KindTime:
			args = append(args, at(cell.At))
		default:
			args = append(args, cell.Label)
		}
	}
	return args
}

// Column is where the only column of a row goes.
func Column[T any](row *T) []any { return []any{row} }
