package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gocql/gocql"

	"footfall/migrations"
)

var errBehind = errors.New("the database's schema is older than this binary: run `consumer migrate`")

// checkSchema refuses a database that is not migrated to just what this binary knows.
func (s *Store) checkSchema(ctx context.Context) error {
	all, err := migrations.All()
	if err != nil {
		return err
	}
	recorded, err := recordedMigrations(ctx, s.session, s.names)
	var refused gocql.RequestError
	if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid {
		return fmt.Errorf("keyspace %s has no schema: run `consumer migrate`", s.names.footfall)
	}
	if err != nil {
		return err
	}
	return compare(all, recorded)
}

// recordedMigrations reads which migrations the database has: version and checksum.
func recordedMigrations(ctx context.Context, session *gocql.Session, n names) (map[int]string, error) {
	recorded := map[int]string{}
	scanner := session.Query(`SELECT version, checksum FROM ` + n.footfall + `.schema_migrations`).
		WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		var version int
		var checksum string
		if err := scanner.Scan(&version, &checksum); err != nil {
			return nil, fmt.Errorf("reading schema_migrations: %w", err)
		}
		recorded[version] = checksum
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("reading schema_migrations: %w", err)
	}
	return recorded, nil
}

// compare holds what the database recorded against what the binary knows.
func compare(all []migrations.Migration, recorded map[int]string) error {
	if newest := slices.Max(append(slices.Collect(maps.Keys(recorded)), 0)); newest > len(all) {
		return fmt.Errorf("the database's schema is at version %d, this binary knows %d: use a newer footfall",
			newest, len(all))
	}
	for _, m := range all {
		checksum, done := recorded[m.Version]
		if done && checksum != m.Checksum {
			return fmt.Errorf("migration %d (%s) was applied with other contents than this binary has:"+
				" a migration must never be edited; is this binary a released one?", m.Version, m.Name)
		}
		if !done {
			return fmt.Errorf("%w (version %d, %s, is missing)", errBehind, m.Version, m.Name)
		}
	}
	return nil
}
