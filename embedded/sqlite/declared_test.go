package sqlite_test

import (
	"slices"
	"testing"

	"footfall/embedded/sqlite"
	"footfall/models"
)

// SQLite's tables are those that models declares: the same columns in the same order, and the same primary keys.
func TestTablesAreAsDeclared(t *testing.T) {
	plan := models.DefaultPlan()
	s, _ := openPlan(t, t.TempDir(), plan)
	for _, table := range models.Tables {
		if table.Name == models.LatestClicks { // a view of rows that are not over
			table.Partition, table.Rows, table.Values = nil, nil, slices.Concat(table.Partition, table.Rows, table.Values)
		}
		columns, key, err := sqlite.Columns(s, string(table.Keyspace), table.Name)
		if err != nil {
			t.Fatal(err)
		}
		if want := plan.ColumnNames(table.Partition, table.Rows, table.Values); !slices.Equal(columns, want) {
			t.Errorf("%s.%s has %q, declared %q", table.Keyspace, table.Name, columns, want)
		}
		if want := plan.ColumnNames(table.Partition, table.Rows); !slices.Equal(key, want) {
			t.Errorf("%s.%s has the key %q, declared %q", table.Keyspace, table.Name, key, want)
		}
	}
}
