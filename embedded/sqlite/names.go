package sqlite

import (
	"context"
	"database/sql/driver"
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

// ListNames implements store.Store: a transaction for each list.
func (s *Store) ListNames(ctx context.Context, names []models.Name) error {
	rows := map[string][][]any{}
	for _, n := range names {
		if !slices.ContainsFunc(models.Lists, func(t models.Table) bool { return t.Name == n.List }) {
			return fmt.Errorf("listing names: no list %q", n.List)
		}
		rows[n.List] = append(rows[n.List], n.Append(nil, day))
	}
	for _, list := range models.Lists {
		some := rows[list.Name]
		if len(some) == 0 {
			continue
		}
		if err := s.insert(ctx, fmt.Sprintf("listing %d names in %s", len(some), list.Name), insertMany(s.schema, list)+" DO NOTHING", some); err != nil {
			return err
		}
	}
	return nil
}
