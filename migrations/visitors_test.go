package migrations

import (
	"strings"
	"testing"

	"footfall/models"
)

// Consumers of other versions refuse new tables until all are made: no migration is recorded before, and how visitors are remembered is
// recorded first.
func TestMigrationsAreRecordedLast(t *testing.T) {
	steps := 0
	m := lockedMigrator(t, lockTTL, func(m *migrator, line string) {
		if !strings.HasPrefix(line, "migrated") {
			return
		}
		steps++
		if recorded, err := recordedMigrations(t.Context(), m.session, m.names); err != nil || len(recorded) > 0 {
			t.Errorf("%s: %v are recorded, %v", line, recorded, err)
		}
		var visitors string
		err := m.session.Query(`SELECT value FROM `+m.names.Footfall+`.settings WHERE name = ?`, models.VisitorsSetting).Scan(&visitors)
		if err != nil || visitors != models.VisitorsInRows {
			t.Errorf("%s: visitors are recorded as %q, %v", line, visitors, err)
		}
	})
	if err := m.run(t.Context()); err != nil || steps != len(landed) {
		t.Errorf("%d steps, %v", steps, err)
	}
	if recorded, err := recordedMigrations(t.Context(), m.session, m.names); err != nil || len(recorded) != len(landed) {
		t.Errorf("%d migrations are recorded, %v", len(recorded), err)
	}
}
