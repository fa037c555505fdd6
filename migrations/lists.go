package migrations

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/models"
)

// nothingCounted tells whether no consumer can ever have counted: there are no tables of counters, also none that were made before the
// migrations were recorded. Empty tables would not do: a consumer of an earlier version may hold them, and would list nothing.
func (m *migrator) nothingCounted(ctx context.Context, recorded map[int]string) (bool, error) {
	if len(recorded) > 0 {
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

// settleLists records that the lists of names are whole, if this run has made all tables and held the lock meanwhile. It is called after the last
// migration: from then on a consumer that would not list what it counts refuses to start. Else it returns what is left to do, if the lists are not whole.
func (m *migrator) settleLists(ctx context.Context, fresh bool) (todo string, err error) {
	if fresh {
		err := m.session.Query(`INSERT INTO `+m.names.Footfall+`.settings (name, value) VALUES (?, ?)`, models.ListsSetting, models.ListsWhole).
			WithContext(ctx).Exec()
		if err != nil {
			return "", fmt.Errorf("recording that the lists are whole: %w", err)
		}
		return "", nil
	}
	var recorded string
	err = m.session.Query(`SELECT value FROM `+m.names.Footfall+`.settings WHERE name = ?`, models.ListsSetting).WithContext(ctx).Scan(&recorded)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return "", fmt.Errorf("reading whether the lists are whole: %w", err)
	}
	if recorded == models.ListsWhole {
		return "", nil
	}
	return "; lists may lack what was counted before: run `consumer catalogue` when all consumers are of this version", nil
}
