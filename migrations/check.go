package migrations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
	"footfall/internal/retry"
	"footfall/models"
)

var errBehind = errors.New("the database's schema is older than this binary: run `consumer migrate`")

// Check returns an error that says what to do unless the database has exactly the migrations of this binary, and its tables were made for the
// configured plan. It is final (retry.IsFinal) unless somebody who migrates would mend it.
func Check(ctx context.Context, session *gocql.Session, names cql.Keyspaces, configured *models.Plan) error {
	plan, err := CheckTables(ctx, session, names)
	if err != nil {
		return err
	}
	return samePlan(plan, configured, names)
}

// CheckTables returns the plan that the tables were made for, and an error that says what to do unless the database has exactly the
// migrations of this binary.
func CheckTables(ctx context.Context, session *gocql.Session, names cql.Keyspaces) (*models.Plan, error) {
	recorded, err := recordedMigrations(ctx, session, names)
	if cql.NoTable(err) {
		return nil, fmt.Errorf("keyspace %s has no schema: run `consumer migrate`", names.Footfall)
	}
	if err != nil {
		return nil, err
	}
	plan, err := recordedPlan(ctx, session, names)
	if err != nil {
		return nil, err
	}
	if plan == nil {
		return nil, errBehind // no migration is recorded before the plan is
	}
	all, err := All(plan.Features())
	if err != nil {
		return nil, err
	}
	return plan, compare(all, recorded)
}

// samePlan returns an error if the configured plan is not that of the tables. Features are columns of the tables, and repairs have to decide as
// the owner did: neither may change while the tables live.
func samePlan(tables, configured *models.Plan, n cql.Keyspaces) error {
	if configured.Equal(tables) {
		return nil
	}
	return retry.Final(fmt.Errorf("the tables of keyspace %s were made for %s, but the configuration says %s: set features and metrics as the"+
		" tables have them, or count into new tables with another cassandra.keyspace_suffix", n.Cardinality, tables, configured))
}

// planSetting is the row of settings that holds the plan.
const planSetting = "plan"

// recordedPlan reads the plan that the tables were made for; nil if none is recorded.
func recordedPlan(ctx context.Context, session *gocql.Session, n cql.Keyspaces) (*models.Plan, error) {
	var record string
	err := session.Query(`SELECT value FROM `+n.Footfall+`.settings WHERE name = ?`, planSetting).WithContext(ctx).Scan(&record)
	if errors.Is(err, gocql.ErrNotFound) || cql.NoTable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	plan, err := models.ReadPlan(record)
	return plan, retry.Final(err)
}

// recordedMigrations reads which migrations the database has: version and checksum.
func recordedMigrations(ctx context.Context, session *gocql.Session, n cql.Keyspaces) (map[int]string, error) {
	recorded := map[int]string{}
	scanner := session.Query(`SELECT version, checksum FROM ` + n.Footfall + `.schema_migrations`).
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

// compare returns an error unless the database has exactly the binary's migrations, with the same checksums.
func compare(all []Migration, recorded map[int]string) error {
	if newest := slices.Max(append(slices.Collect(maps.Keys(recorded)), 0)); newest > len(all) {
		return retry.Final(fmt.Errorf("the database's schema is at version %d, this binary knows %d: use a newer footfall",
			newest, len(all)))
	}
	for _, m := range all {
		checksum, done := recorded[m.Version]
		if done && checksum != m.Checksum {
			return retry.Final(fmt.Errorf("migration %d (%s) was applied with other contents than this binary has:"+
				" a migration must never be edited; is this binary a released one?", m.Version, m.Name))
		}
		if !done {
			return fmt.Errorf("%w (version %d, %s, is missing)", errBehind, m.Version, m.Name)
		}
	}
	return nil
}
