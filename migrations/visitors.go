package migrations

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/internal/retry"
	"footfall/models"
)

// settleVisitors records how new tables remember visitors of sites, before the first one is made: a run that was interrupted may be repeated. It
// refuses tables that remember them otherwise, or do not say how: visitors would be looked for elsewhere, and counted again.
func (m *migrator) settleVisitors(ctx context.Context, done map[int]string) error {
	fresh, err := m.nothingCounted(ctx, done)
	if err != nil {
		return err
	}
	if fresh {
		insert := `INSERT INTO ` + m.names.Footfall + `.settings (name, value) VALUES (?, ?)`
		if err := m.session.Query(insert, models.VisitorsSetting, models.VisitorsInRows).WithContext(ctx).Exec(); err != nil {
			return fmt.Errorf("recording how visitors are remembered: %w", err)
		}
		return nil
	}
	var recorded string
	err = m.session.Query(`SELECT value FROM `+m.names.Footfall+`.settings WHERE name = ?`, models.VisitorsSetting).WithContext(ctx).Scan(&recorded)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return fmt.Errorf("reading how visitors are remembered: %w", err)
	}
	if recorded != models.VisitorsInRows {
		return retry.Final(fmt.Errorf("the tables of keyspace %s remember visitors in another way (%q in settings; this version: %q) and would count"+
			" them again: count into new tables with another cassandra.keyspace_suffix (docs/operations.md, Upgrading)", m.names.Cardinality, recorded,
			models.VisitorsInRows))
	}
	return nil
}

// nothingCounted tells whether no consumer can ever have counted: no migration is recorded, and there are no tables of counters.
func (m *migrator) nothingCounted(ctx context.Context, done map[int]string) (bool, error) {
	if len(done) > 0 {
		return false, nil
	}
	for _, keyspace := range []string{m.names.URLShortener, m.names.Cardinality} {
		var table string
		err := m.session.Query(`SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? LIMIT 1`, keyspace).WithContext(ctx).Scan(&table)
		if err == nil {
			return false, nil
		}
		if !errors.Is(err, gocql.ErrNotFound) {
			return false, fmt.Errorf("looking for tables in %s: %w", keyspace, err)
		}
	}
	return true, nil
}
