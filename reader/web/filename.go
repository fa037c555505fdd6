package web

import (
	"maps"
	"path"
	"slices"
	"strings"

	"footfall/reader/export"
)

// fileName names a download by what it has, such as footfall-link-abc-referrers.csv.
func fileName(found *route, q question, a *answer, ending string) string {
	var parts []string
	switch {
	case found.listed:
		parts = []string{a.list.name}
	case found.about == aLink:
		parts = []string{"link", q.name}
	default:
		parts = []string{"site", q.name}
	}
	if !found.listed {
		parts = append(parts, path.Base(strings.TrimSuffix(found.path, "/{feature}")))
	}
	isRange := slices.Contains(found.params, "from") // else from and to are those of the period
	for _, f := range a.head {
		text, _ := f.value.(string)
		switch f.name {
		case "feature", "metric", "by", "period", "month", "day":
			parts = append(parts, text)
		case "from", "to":
			if isRange && text != "" {
				parts = append(parts, strings.TrimSuffix(strings.TrimSuffix(text, ":00:00Z"), "T00"))
			}
		}
	}
	for _, feature := range slices.Sorted(maps.Keys(q.Features)) {
		parts = append(parts, feature, q.Features[feature])
	}
	return export.FileName(ending, parts...)
}

// attached is the header Content-Disposition of a file.
func attached(name string) string { return `attachment; filename="` + name + `"` }
