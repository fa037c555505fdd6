package migrations

import (
	"context"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
)

// Setting reads a fact of all that was counted; empty if it is not recorded.
func Setting(ctx context.Context, session *gocql.Session, n cql.Keyspaces, name string) (value string, err error) {
	err = cql.One(session.Query(`SELECT value FROM `+n.Footfall+`.settings WHERE name = ?`, name).WithContext(ctx), &value)
	if err != nil && !cql.NoTable(err) {
		return "", fmt.Errorf("reading setting %q: %w", name, cql.MarkFinal(err))
	}
	return value, nil
}

// Record records a setting, unless there is one, and returns what is recorded. It is idempotent.
func Record(ctx context.Context, session *gocql.Session, n cql.Keyspaces, name, value string) (string, error) {
	last := map[string]any{}
	fresh, err := session.Query(`INSERT INTO `+n.Footfall+`.settings (name, value) VALUES (?, ?) IF NOT EXISTS`, name, value).
		WithContext(ctx).MapScanCAS(last)
	if err != nil {
		return "", fmt.Errorf("recording setting %q: %w", name, cql.MarkFinal(err))
	}
	if recorded, ok := last["value"].(string); !fresh && ok {
		return recorded, nil
	}
	return value, nil
}
