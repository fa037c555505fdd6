package migrations

import (
	"context"
	"fmt"

	"footfall/models"
)

// settleVisitors records that new tables remember visitors of sites in rows, before the first table is made: a run that was interrupted may be
// repeated. Tables that an older version has made do not, even if an earlier run of this version was interrupted before.
func (m *migrator) settleVisitors(ctx context.Context, all []Migration, fresh bool, recorded map[int]string) error {
	statement, args := "", []any{models.VisitorsSetting}
	switch {
	case fresh:
		statement, args = `INSERT INTO `+m.names.Footfall+`.settings (name, value) VALUES (?, ?)`, append(args, models.VisitorsInRows)
	case len(recorded) > 0 && !hasVisitors(all, recorded):
		statement = `DELETE FROM ` + m.names.Footfall + `.settings WHERE name = ?`
	default:
		return nil
	}
	if err := m.session.Query(statement, args...).WithContext(ctx).Exec(); err != nil {
		return fmt.Errorf("recording how visitors are remembered: %w", err)
	}
	return nil
}

// hasVisitors tells whether a version that knows the table visitors has recorded its migrations.
func hasVisitors(all []Migration, recorded map[int]string) bool {
	for _, step := range all {
		if _, done := recorded[step.Version]; done && step.Name == "visitors" {
			return true
		}
	}
	return false
}
