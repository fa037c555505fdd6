package maintenance

import (
	"fmt"
	"slices"

	"footfall/models"
)

// compareCells orders cells, so that reports list them in the same order each time.
func compareCells(a, b models.Cell) int {
	return slices.Compare([]string{a.Counter, fmt.Sprintf("%020d", a.At), a.Label}, []string{b.Counter, fmt.Sprintf("%020d", b.At), b.Label})
}

// describeCell names a cell in the analysts' terms: keyspace, name, month, features, counter, time, label.
func describeCell(key models.Key, cell models.Cell) string {
	text := fmt.Sprintf("%s %q", key.Keyspace, key.Name)
	if key.Keyspace == models.Cardinality {
		text += fmt.Sprintf(" %s %q", key.Month.Time().Format("2006-01"), key.Features.Values())
	}
	text += " " + cell.Counter
	if cell.At != 0 {
		text += " " + cell.At.Time().Format("2006-01-02T15:04Z")
	}
	if cell.Label != "" {
		text += fmt.Sprintf(" %q", cell.Label)
	}
	return text
}
