package migrations

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/models"
)

// settleVisitors records that new tables remember visitors of sites in rows, before the first table is made: a run that was interrupted may be
// repeated. Tables that an older version has made do not, even if an earlier run of this version was interrupted before.
func (m *migrator) settleVisitors(ctx context.Context, all []Migration, fresh bool, recorded map[int]string) error {
	how := models.VisitorsBySighting
	switch {
	case fresh:
		how = models.VisitorsInRows
	case hasVisitors(all, recorded):
		return nil
	case len(recorded) == 0: // a run of this version was interrupted, or the tables are older than the record of migrations
		var found string
		err := m.session.Query(`SELECT value FROM `+m.names.Footfall+`.settings WHERE name = ?`, models.VisitorsSetting).WithContext(ctx).Scan(&found)
		if err == nil {
			return nil
		}
		if !errors.Is(err, gocql.ErrNotFound) {
			return fmt.Errorf("reading how visitors are remembered: %w", err)
		}
	}
	insert := `INSERT INTO ` + m.names.Footfall + `.settings (name, value) VALUES (?, ?)`
	if err := m.session.Query(insert, models.VisitorsSetting, how).WithContext(ctx).Exec(); err != nil {
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
