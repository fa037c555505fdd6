package models_test

import (
	"fmt"
	"strings"
	"testing"

	"footfall/models"
	"footfall/models/modelstest"
)

// TestTablesAreDescribed compares docs/model.md, the default configuration and the chart's schema with the tables and counters, or writes them.
func TestTablesAreDescribed(t *testing.T) {
	metrics := strings.Join(models.AllMetrics(), ", ")
	modelstest.Written(t, *update, "../configs/consumer.yaml", "(docs/model.md).\nmetrics: ", "\n", "["+metrics+"]\n")
	modelstest.Written(t, *update, "../deployments/helm/footfall/values.schema.json", `"metrics": {
          "type": "array",
          "minItems": 1,
          "uniqueItems": true,
`, "        }", fmt.Sprintf("          \"items\": {\"enum\": [\"%s\"]}\n", strings.ReplaceAll(metrics, ", ", `", "`)))
	want := ""
	for _, table := range models.Tables {
		want += row(table) + "\n"
	}
	modelstest.Written(t, *update, "../docs/model.md", "| table | questions | `K` | `C` | the rest | what it has | rows of a partition |\n| --- | --- | --- | --- | --- | --- | --- |\n", "\n", want)
}

func row(t models.Table) string {
	down := ""
	if t.NewestFirst {
		down = "↓"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s |", t.Name, t.Answers, columns(t.Partition, ""), columns(t.Rows, down), columns(t.Values, ""), t.Holds, t.Most)
}

// columns are a table's columns, with ++ at a counter, and an arrow at the time that the newest come first by.
func columns(list []models.Column, down string) string {
	var names []string
	for _, c := range list {
		name := "`" + c.Name + "`"
		switch c.Kind {
		case models.KindFeatures:
			name = "each feature"
		case models.KindCounter:
			name += " ++"
		case models.KindTime, models.KindTimeUUID:
			name += down
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
