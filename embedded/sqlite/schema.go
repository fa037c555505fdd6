package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // the schema is part of the binary
	"fmt"
)

// schemaVersion is the version of schema.sql; the history is at its top.
const schemaVersion = 2

//go:embed schema.sql
var schema string

// migrate creates the tables of new files and refuses files of a later version. The version is written last, file by
// file, and every statement of the schema can be run again: a crash half-way leaves nothing to clean up.
func migrate(ctx context.Context, db *sql.DB) error {
	for _, database := range databases {
		version, err := version(ctx, db, database)
		switch {
		case err != nil:
			return err
		case version > schemaVersion:
			return fmt.Errorf("%s.db has schema version %d, this binary knows %d: use the newer footfall that wrote it, or another data.dir",
				database, version, schemaVersion)
		}
	}
	if err := outgrow(ctx, db); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("creating tables: %w", err)
	}
	for _, database := range databases {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA %s.user_version = %d", database, schemaVersion)); err != nil {
			return fmt.Errorf("writing schema version: %w", err)
		}
	}
	return nil
}

// outgrow drops bookkeeping of earlier versions that the schema makes anew. One process never has open doubts.
func outgrow(ctx context.Context, db *sql.DB) error {
	version, err := version(ctx, db, "footfall")
	if err != nil || version != 1 {
		return err
	}
	if _, err := db.ExecContext(ctx, "DROP TABLE IF EXISTS footfall.doubts; DROP TABLE IF EXISTS footfall.topics"); err != nil {
		return fmt.Errorf("leaving schema version 1: %w", err)
	}
	return nil
}

func version(ctx context.Context, db *sql.DB, database string) (version int, err error) {
	if err := db.QueryRowContext(ctx, "PRAGMA "+database+".user_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("reading schema version of %s.db: %w", database, err)
	}
	return version, nil
}
