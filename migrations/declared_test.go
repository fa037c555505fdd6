package migrations

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"footfall/models"
)

// The tables that analysts query are those that models declares: the same columns, keys and order of rows. The rest of the CQL is the migrations' own.
func TestTablesAreAsDeclared(t *testing.T) {
	plan := models.DefaultPlan()
	all, err := All(plan.Features())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	create := regexp.MustCompile(`(?s)^CREATE TABLE IF NOT EXISTS \$\{(urlshortener|cardinality)\}\.(\w+) \((.*)\n\)(.*)$`)
	for _, m := range all {
		for _, statement := range m.Statements {
			if parts := create.FindStringSubmatch(statement); parts != nil {
				found[parts[1]+"."+parts[2]] = spaced(parts[3]) + order.FindString(spaced(parts[4]))
			}
		}
	}
	for _, table := range models.Tables {
		name := string(table.Keyspace) + "." + table.Name
		if got, want := found[name], body(plan, table); got != want {
			t.Errorf("%s is\n%s\nand declared as\n%s", name, got, want)
		}
		delete(found, name)
	}
	for name := range found {
		t.Errorf("%s is not declared in models.Tables", name)
	}
}

func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

var order = regexp.MustCompile(`CLUSTERING ORDER BY \([^)]*\)`)

// body is that of a declared table's CREATE TABLE.
func body(plan *models.Plan, t models.Table) string {
	var columns []string
	for _, c := range plan.Columns(t.Partition, t.Rows, t.Values) {
		kind := c.Kind
		if kind == models.KindTag {
			kind = models.KindText
		}
		columns = append(columns, c.Name+" "+string(kind))
	}
	partition, rows := plan.ColumnNames(t.Partition), plan.ColumnNames(t.Rows)
	key := strings.Join(partition, ", ")
	switch {
	case len(partition) == 1 && len(rows) == 0:
		return fmt.Sprintf("%s PRIMARY KEY%s", columns[0], strings.Join(append([]string{""}, columns[1:]...), ", "))
	case len(partition) > 1 || t.Name == models.SitesByMonth:
		key = "(" + key + ")"
	}
	text := fmt.Sprintf("%s, PRIMARY KEY (%s)", strings.Join(columns, ", "), strings.Join(append([]string{key}, rows...), ", "))
	if t.NewestFirst {
		var ways []string
		for _, c := range t.Rows {
			way := " ASC"
			if c.Kind == models.KindTime || c.Kind == models.KindTimeUUID {
				way = " DESC"
			}
			ways = append(ways, c.Name+way)
		}
		text += "CLUSTERING ORDER BY (" + strings.Join(ways, ", ") + ")"
	}
	return text
}
