package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"

	"modernc.org/sqlite"

	"footfall/models"
)

// Whoever asks the lists for one name needs its bucket, and SQLite knows no MD5. The query command has the function too.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("name_bucket", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		text, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("name_bucket wants a text, not %T", args[0])
		}
		return models.NameBucket(text), nil
	})
}

// listStatements insert rows of the lists, each list from one JSON array.
var listStatements = map[string]string{
	models.LinksByDay:    "INSERT INTO urlshortener.links_by_day SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING",
	models.SitesByMonth:  "INSERT INTO cardinality.sites_by_month SELECT value ->> 0, value ->> 1 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING",
	models.ValuesByMonth: "INSERT INTO cardinality.values_by_month SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING",
}

func nameRow(n models.Name) []any {
	switch n.List {
	case models.LinksByDay:
		return []any{day(n.Start), n.Bucket(), n.Value}
	case models.SitesByMonth:
		return []any{day(n.Start), n.Value}
	}
	return []any{n.Site, day(n.Start), n.Feature, n.Bucket(), n.Value}
}

// ListNames implements store.Store: a transaction for each list.
func (s *Store) ListNames(ctx context.Context, names []models.Name) error {
	rows := map[string][][]any{}
	for _, n := range names {
		if listStatements[n.List] == "" {
			return fmt.Errorf("listing names: no list %q", n.List)
		}
		rows[n.List] = append(rows[n.List], nameRow(n))
	}
	for list, rows := range rows {
		err := s.write(ctx, fmt.Sprintf("listing %d names in %s", len(rows), list), func(ctx context.Context, tx *sql.Tx) error {
			for chunk := range slices.Chunk(rows, perStatement) {
				parameter, err := json.Marshal(chunk)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, listStatements[list], string(parameter)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
