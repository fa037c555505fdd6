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
const schemaVersion = 5

//go:embed schema.sql
var schemaText string

// migrate creates the tables of new files, and refuses files of another version or of another plan. The version of each file is written
// last, and every statement of the schema can be run again, so a crash in between does no harm.
func (s *Store) migrate(ctx context.Context, plan *models.Plan) error {
	for _, database := range databases {
		version, err := version(ctx, s.writer, database)
		if err != nil {
			return err
		}
		if version != 0 && version != schemaVersion { // 0: the file is new
			return fmt.Errorf("%s.db has schema version %d, this binary knows only %d: use the footfall that wrote it, or move data.dir away and"+
				" count anew", database, version, schemaVersion)
		}
	}
	if err := s.settle(ctx, plan); err != nil {
		return err
	}
	if _, err := s.writer.ExecContext(ctx, schemaOf(plan)); err != nil {
		return fmt.Errorf("creating tables: %w", err)
	}
	for _, database := range databases {
		if _, err := s.writer.ExecContext(ctx, fmt.Sprintf("PRAGMA %s.user_version = %d", database, schemaVersion)); err != nil {
			return fmt.Errorf("writing schema version: %w", err)
		}
	}
	return nil
}

func schemaOf(plan *models.Plan) string {
	return strings.NewReplacer(
		"${features}", strings.Join(plan.Features(), ", "),
		"${feature_columns}", strings.Join(plan.Features(), " TEXT NOT NULL,\n    ")+" TEXT NOT NULL,",
	).Replace(schemaText)
}

// settle records what the tables are made for before the first one is made, and refuses anything else later.
func (s *Store) settle(ctx context.Context, configured *models.Plan) error {
	const create = "CREATE TABLE IF NOT EXISTS footfall.settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT"
	if _, err := s.writer.ExecContext(ctx, create); err != nil {
		return fmt.Errorf("creating settings: %w", err)
	}
	plan, err := s.Setting(ctx, "plan", configured.Record())
	if err != nil {
		return err
	}
	tables, err := models.ReadPlan(plan)
	if err != nil {
		return err
	}
	if !tables.Equal(configured) {
		return fmt.Errorf("the tables were made for %s, but the configuration says %s: set features and metrics as the tables have"+
			" them, or count into another data.dir", tables, configured)
	}
	visitors, err := s.Setting(ctx, models.VisitorsSetting, models.VisitorsInRows)
	if err == nil && visitors != models.VisitorsInRows {
		err = fmt.Errorf("the tables remember visitors %s, but this binary %s: use the footfall that wrote them, or count into another data.dir",
			visitors, models.VisitorsInRows)
	}
	return err
}

func version(ctx context.Context, db *sql.DB, database string) (version int, err error) {
	if err := db.QueryRowContext(ctx, "PRAGMA "+database+".user_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("reading schema version of %s.db: %w", database, err)
	}
	return version, nil
}
