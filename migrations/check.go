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
	if _, err := CheckTables(ctx, session, names); err != nil {
		return err
	}
	return same(ctx, session, names, configured)
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
	all, err := All(plan.Features())
	if err != nil {
		return nil, err
	}
	return plan, compare(all, recorded)
}

// same returns an error if the tables were made for another plan, or remember visitors otherwise than this version. Features are columns of the
// tables, repairs have to decide as the owner did, and a visitor who is looked for elsewhere is counted again: none may change while the tables live.
func same(ctx context.Context, session *gocql.Session, n cql.Keyspaces, configured *models.Plan) error {
	tables, err := recordedPlan(ctx, session, n)
	if err != nil {
		return err
	}
	if !configured.Equal(tables) {
		return retry.Final(fmt.Errorf("the tables of keyspace %s were made for %s, but the configuration says %s: set features and metrics as the"+
			" tables have them, or count into new tables with another cassandra.keyspace_suffix", n.Cardinality, tables, configured))
	}
	visitors, err := Setting(ctx, session, n, models.VisitorsSetting)
	switch {
	case err != nil:
		return err
	case visitors == "": // perhaps another data centre has it
		return errBehind
	case visitors != models.VisitorsInRows:
		return retry.Final(fmt.Errorf("the tables of keyspace %s remember visitors %s, but this version %s: use the version that counted, or count into"+
			" new tables with another cassandra.keyspace_suffix", n.Cardinality, visitors, models.VisitorsInRows))
	}
	return nil
}

// planSetting is the row of settings that holds the plan.
const planSetting = "plan"

// recordedPlan reads the plan that the tables were made for.
func recordedPlan(ctx context.Context, session *gocql.Session, n cql.Keyspaces) (*models.Plan, error) {
	record, err := Setting(ctx, session, n, planSetting)
	if err != nil {
		return nil, err
	}
	if record == "" {
		return nil, errBehind // no migration is recorded before the plan is
	}
	plan, err := models.ReadPlan(record)
	return plan, retry.Final(err)
}

// first0x is the checksum of the first migration of versions before 1.0.
const first0x = "ba71d91d62d4cbac5df5a229532b6386eafa7b302d0f0a567b34836312592155"

// recordedMigrations reads which migrations the database has: version and checksum. Tables of versions before 1.0 are an error: this one finds neither
// visitors nor doubts where they have them.
func recordedMigrations(ctx context.Context, session *gocql.Session, n cql.Keyspaces) (map[int]string, error) {
	recorded := map[int]string{}
	var version int
	var checksum string
	query := session.Query(`SELECT version, checksum FROM ` + n.Footfall + `.schema_migrations`).WithContext(ctx)
	if err := cql.Each(query, func() error { recorded[version] = checksum; return nil }, &version, &checksum); err != nil {
		return nil, fmt.Errorf("reading schema_migrations: %w", err)
	}
	if recorded[1] == first0x {
		return nil, retry.Final(fmt.Errorf("the tables of keyspace %s are those of footfall 0.x: go on with 0.x, or count the log again into new tables with"+
			" another cassandra.keyspace_suffix (docs/operations.md, Upgrading)", n.Footfall))
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
