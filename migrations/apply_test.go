package migrations

import (
	"strings"
	"testing"

	"footfall/models"
)

// A run that is interrupted after any migration goes on with the next, and with tables that are made for the same: settings are recorded first.
func TestEachMigrationIsRecorded(t *testing.T) {
	steps := 0
	m := lockedMigrator(t, lockTTL, func(m *migrator, line string) {
		if !strings.HasPrefix(line, "migrated") {
			return
		}
		steps++
		if recorded, err := recordedMigrations(t.Context(), m.session, m.names); err != nil || len(recorded) != steps {
			t.Errorf("%s: %v are recorded, %v", line, recorded, err)
		}
		for name, want := range map[string]string{planSetting: m.plan.Record(), models.VisitorsSetting: models.VisitorsInRows} {
			if value, err := Setting(t.Context(), m.session, m.names, name); err != nil || value != want {
				t.Errorf("%s: %s is recorded as %q, %v", line, name, value, err)
			}
		}
	})
	if err := m.run(t.Context()); err != nil || steps != len(landed) {
		t.Errorf("%d steps, %v", steps, err)
	}
}
