package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"footfall/consumer/store"
	"footfall/internal/tables"
	"footfall/models"
)

// Store implements store.Store. It is safe for concurrent use: writes queue for the only writer connection, reads run at the same time
// and see what is committed.
type Store struct {
	writer   *sql.DB
	readers  *sql.DB
	schema   tables.Schema
	add      map[models.Keyspace]*adders
	ledgerOf map[models.Keyspace]string
	visitors visitorStatements
}

var _ store.Store = (*Store)(nil)

// Open opens the store in dir and creates both if need be. The plan cannot change afterwards. The caller must ensure that only one
// process has the store open.
func Open(ctx context.Context, dir string, plan *models.Plan) (_ *Store, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening store: %w (its directory is data.dir)", err)
	}
	schema := tables.Schema{Plan: plan}
	s := &Store{schema: schema, ledgerOf: ledgerQueries(schema), visitors: newVisitorStatements(schema)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("opening store in %s: %w", dir, errors.Join(err, s.Close()))
		}
	}()
	// A negative cache_size is in KiB. It is enough for the inner nodes of all tables.
	s.writer, err = pool(dir, "rwc", "journal_mode = WAL", "synchronous = FULL", "cache_size = -32768", "journal_size_limit = 67108864")
	if err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	if err := s.migrate(ctx, plan); err != nil {
		return nil, err
	}
	s.readers, err = pool(dir, "ro")
	if err != nil {
		return nil, err
	}
	s.readers.SetMaxOpenConns(4)
	s.readers.SetMaxIdleConns(4)
	if s.add, err = prepareAdders(ctx, s.writer, schema); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the store; no method may be under way.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.readers, s.writer} { // the writer last, since it removes the WAL files
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// WriteTimeout implements store.Store: outcomes are never unknown.
func (s *Store) WriteTimeout() time.Duration { return 0 }

// exec runs one statement in a transaction. what says in an error what it was for.
func (s *Store) exec(ctx context.Context, what, statement string, args ...any) error {
	return s.write(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
}

// insert runs a statement whose only parameter is a JSON array of rows, in one transaction.
func (s *Store) insert(ctx context.Context, what, statement string, rows [][]any) error {
	return s.write(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		for some := range slices.Chunk(rows, perStatement) {
			parameter, err := asJSON(some)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, statement, parameter); err != nil {
				return err
			}
		}
		return nil
	})
}

// asJSON writes rows as a parameter. Texts keep < and &, since SQLite stores a list as it is written here.
func asJSON(rows [][]any) (string, error) {
	var b strings.Builder
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(rows)
	return b.String(), err
}

// write runs do in a transaction, of which nothing is applied after an error. what says in an error what it was for. ctx does not end it
// once it has begun, since the outcome of a cancelled commit would be unknown.
func (s *Store) write(ctx context.Context, what string, do func(context.Context, *sql.Tx) error) error {
	if err := s.transact(ctx, do); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (s *Store) transact(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("waiting for the writer: %w", err)
	}
	defer func() { _ = conn.Close() }() // back to the pool, which ignores broken connections
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning: %w", err)
	}
	if err := do(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}
