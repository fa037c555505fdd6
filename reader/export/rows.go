package export

import (
	"iter"
	"slices"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/table"
)

// Column is a column of the rows. In Parquet a text is a string, an integer an int64, a time a timestamp of UTC in milliseconds.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // text, integer or time
	Nullable bool   `json:"nullable,omitempty"`
}

// Types of columns.
const (
	text    = "text"
	Integer = "integer"
	Moment  = "time"
)

// siteColumns are those of a site's month. A feature that is called as another column is feature.NAME.
func siteColumns(features []string) []Column {
	before := []Column{{Name: "siteId", Type: text}, {Name: "month", Type: text}}
	after := []Column{{Name: "metric", Type: text}, {Name: "start", Type: Moment}, {Name: "count", Type: Integer}}
	fixed := slices.Concat(before, after)
	for _, name := range features {
		if slices.ContainsFunc(fixed, func(c Column) bool { return c.Name == name }) {
			name = "feature." + name
		}
		before = append(before, Column{Name: name, Type: text, Nullable: true})
	}
	return append(before, after...)
}

// siteRows are the cells of a site's month. Each row is overwritten by the next one. A feature of which any value counts is nil.
func siteRows(site string, m *stats.SiteMonth) iter.Seq2[[]any, error] {
	month := m.Month.Time().Format(models.Monthly)
	return table.Rows(m.Rows, func(row []any, c stats.SiteCount) []any {
		row = append(row, site, month)
		for _, value := range c.Features {
			if value == "" {
				row = append(row, nil)
			} else {
				row = append(row, value)
			}
		}
		return append(row, c.Metric, c.Start, c.Count.Count)
	})
}

func linkColumns() []Column {
	return []Column{{Name: "short_url", Type: text}, {Name: "metric", Type: text}, {Name: "unit", Type: text}, {Name: "start", Type: Moment}, {Name: "count", Type: Integer},
		{Name: "by", Type: text, Nullable: true}, {Name: "label", Type: text, Nullable: true}}
}

func linkRows(link string, m *stats.LinkMonth) iter.Seq2[[]any, error] {
	return table.Rows(m.Rows, func(row []any, c stats.LinkCount) []any {
		row = append(row, link, c.Metric, string(c.Unit), c.Start, c.Count.Count)
		if c.By == "" {
			return append(row, nil, nil)
		}
		return append(row, c.By, c.Label)
	})
}
