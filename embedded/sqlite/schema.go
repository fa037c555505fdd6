package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // the schema is part of the binary
	"fmt"
	"strings"

	"footfall/models"
)

// schemaVersion is the version of schema.sql; the history is at its top.
const schemaVersion = 4

//go:embed schema.sql
var schema string

// migrate creates the tables of new files, and refuses files of another version or of another plan. The version of each file is written
// last, and every statement of the schema can be run again, so a crash in between does no harm.
func migrate(ctx context.Context, db *sql.DB, plan *models.Plan) error {
	for _, database := range databases {
		version, err := version(ctx, db, database)
		if err != nil {
			return err
		}
		if version != 0 && version != schemaVersion { // 0: the file is new. Versions below 4 are from before 1.0
			return fmt.Errorf("%s.db has schema version %d, this binary knows only %d: use the footfall that wrote it, or move data.dir away and"+
				" count anew", database, version, schemaVersion)
		}
	}
	if err := settlePlan(ctx, db, plan); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, schemaOf(plan)); err != nil {
		return fmt.Errorf("creating tables: %w", err)
	}
	for _, database := range databases {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA %s.user_version = %d", database, schemaVersion)); err != nil {
			return fmt.Errorf("writing schema version: %w", err)
		}
	}
	return nil
}

func schemaOf(plan *models.Plan) string {
	return strings.NewReplacer(
		"${features}", strings.Join(plan.Features(), ", "),
		"${feature_columns}", strings.Join(plan.Features(), " TEXT NOT NULL,\n    ")+" TEXT NOT NULL,",
	).Replace(schema)
}

// settlePlan records the plan before the first table is made for it, and refuses any other plan later.
func settlePlan(ctx context.Context, db *sql.DB, configured *models.Plan) error {
	const create = "CREATE TABLE IF NOT EXISTS footfall.settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT"
	if _, err := db.ExecContext(ctx, create); err != nil {
		return fmt.Errorf("creating settings: %w", err)
	}
	const record = "INSERT INTO footfall.settings VALUES ('plan', ?) ON CONFLICT DO NOTHING"
	if _, err := db.ExecContext(ctx, record, configured.Record()); err != nil {
		return fmt.Errorf("recording the plan: %w", err)
	}
	var recorded string
	if err := db.QueryRowContext(ctx, "SELECT value FROM footfall.settings WHERE name = 'plan'").Scan(&recorded); err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	tables, err := models.ReadPlan(recorded)
	if err != nil {
		return err
	}
	if !tables.Equal(configured) {
		return fmt.Errorf("the tables were made for %s, but the configuration says %s: set features and metrics as the tables have"+
			" them, or count into another data.dir", tables, configured)
	}
	return nil
}

func version(ctx context.Context, db *sql.DB, database string) (version int, err error) {
	if err := db.QueryRowContext(ctx, "PRAGMA "+database+".user_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("reading schema version of %s.db: %w", database, err)
	}
	return version, nil
}
