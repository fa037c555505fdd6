package migrations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/uuid"

	"footfall/configs"
	"footfall/internal/cql"
	"footfall/models"
)

// Apply brings the schema up to date and reports each step. It makes new tables for the plan and records the plan. If there are tables, it
// returns an error unless they have the same plan. It is idempotent, and several processes may run it at once: one takes a lock by lightweight
// transaction, and the others wait. The holder renews the lock before each step; it expires after lockTTL if its holder dies. (golang-migrate's Cassandra driver locks within its own
// process only.)
func Apply(ctx context.Context, cfg configs.Cassandra, plan *models.Plan, report func(format string, args ...any)) error {
	return cql.MarkFinal(apply(ctx, cfg, plan, report))
}

func apply(ctx context.Context, cfg configs.Cassandra, plan *models.Plan, report func(format string, args ...any)) error {
	session, err := cql.Connect(ctx, cfg.CassandraClient)
	if err != nil {
		return err
	}
	defer session.Close()
	m := migrator{session: session, names: cql.KeyspacesOf(cfg.KeyspaceSuffix), replication: cfg.Replication, plan: plan, report: report, ttl: lockTTL, holder: uuid.NewString()}
	if err := m.prepare(ctx); err != nil {
		return fmt.Errorf("preparing migration: %w", err)
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return fmt.Errorf("locking the schema: %w", err)
	}
	defer unlock()
	return m.run(ctx)
}

const lockTTL = 90 * time.Second

type migrator struct {
	session     *gocql.Session
	names       cql.Keyspaces
	replication string
	plan        *models.Plan
	report      func(format string, args ...any)
	ttl         time.Duration // of the lock
	holder      string        // the name under which this process has it
}

// prepare creates what the lock needs. Several processes may do so at once on several nodes. The fixed table id keeps them from creating the
// table twice under two ids, which Cassandra would never reconcile.
func (m *migrator) prepare(ctx context.Context) error {
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte("footfall:"+m.names.Footfall+".schema_lock"))
	for _, statement := range []string{
		`CREATE KEYSPACE IF NOT EXISTS ${footfall} WITH replication = ${replication}`,
		`CREATE TABLE IF NOT EXISTS ${footfall}.schema_lock (name text PRIMARY KEY, holder text) WITH ID = ` + id.String(),
	} {
		if err := m.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// lock waits for the lock and returns a function that releases it.
func (m *migrator) lock(ctx context.Context) (func(), error) {
	waiting := false
	for {
		found := map[string]any{}
		taken, err := m.session.Query(fmt.Sprintf(`INSERT INTO %s.schema_lock (name, holder) VALUES ('migrate', ?)`+
			` IF NOT EXISTS USING TTL %d`, m.names.Footfall, int(m.ttl.Seconds())), m.holder).
			WithContext(ctx).MapScanCAS(found)
		if err != nil && !cql.Contended(err) {
			return nil, err
		}
		if taken || found["holder"] == m.holder { // ours: an earlier attempt was applied without an answer
			break
		}
		if !waiting {
			waiting = true
			m.report("another process is migrating; waiting for it")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_, err := m.session.Query(`DELETE FROM `+m.names.Footfall+`.schema_lock WHERE name = 'migrate' IF holder = ?`, m.holder).
			WithContext(ctx).MapScanCAS(map[string]any{})
		if err != nil {
			m.report("releasing the schema lock: %v (it expires after %v)", err, m.ttl)
		}
	}, nil
}

// whileLocked renews the lock and does one step of the work. The step ends in three quarters of the lock's time: the lock may be older than
// we know, since an attempt to renew it may have been applied without an answer.
func (m *migrator) whileLocked(ctx context.Context, step func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, m.ttl*3/4)
	defer cancel()
	for {
		held, err := m.session.Query(fmt.Sprintf(`UPDATE %s.schema_lock USING TTL %d SET holder = ? WHERE name = 'migrate' IF holder = ?`,
			m.names.Footfall, int(m.ttl.Seconds())), m.holder, m.holder).WithContext(limited).MapScanCAS(map[string]any{})
		if cql.Contended(err) && limited.Err() == nil {
			continue // renewed or not: renewing it again does no harm
		}
		if err != nil {
			return fmt.Errorf("renewing the schema lock: %w", err)
		}
		if !held {
			return errors.New("another process took the schema lock, because a step took too long: run migrate again")
		}
		break
	}
	err := step(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w (Cassandra is slow: run migrate again, it goes on where it ended)", err)
	}
	return err
}

func (m *migrator) run(ctx context.Context) error {
	all, err := All(m.plan.Features())
	if err != nil {
		return err
	}
	var recorded map[int]string
	err = m.whileLocked(ctx, func(ctx context.Context) (err error) {
		recorded, err = m.begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := compare(all, recorded); err != nil && !errors.Is(err, errBehind) {
		return err
	}
	for _, step := range all {
		if _, done := recorded[step.Version]; done {
			continue
		}
		if err := m.migrate(ctx, step); err != nil {
			return err
		}
	}
	m.report("schema is at version %d", len(all))
	return nil
}

// begin finds out which migrations are done, and settles what the tables are made for.
func (m *migrator) begin(ctx context.Context) (recorded map[int]string, err error) {
	err = m.exec(ctx, `CREATE TABLE IF NOT EXISTS ${footfall}.schema_migrations (version int PRIMARY KEY, name text,`+
		` checksum text, applied_at timestamp)`)
	if err != nil {
		return nil, fmt.Errorf("creating schema_migrations: %w", err)
	}
	if recorded, err = recordedMigrations(ctx, m.session, m.names); err != nil {
		return nil, err
	}
	if err := m.exec(ctx, `CREATE TABLE IF NOT EXISTS ${footfall}.settings (name text PRIMARY KEY, value text)`); err != nil {
		return nil, fmt.Errorf("creating settings: %w", err)
	}
	return recorded, m.settle(ctx, len(recorded) > 0)
}

// migrate carries out a migration and records it. It may be repeated. Each statement has the lock's time: on a busy cluster nodes take seconds to agree.
func (m *migrator) migrate(ctx context.Context, step Migration) error {
	for _, cql := range step.Statements {
		if err := m.whileLocked(ctx, func(ctx context.Context) error { return m.exec(ctx, cql) }); err != nil {
			return fmt.Errorf("migrating to %d (%s): %w\nin: %s", step.Version, step.Name, err, cql)
		}
	}
	err := m.whileLocked(ctx, func(ctx context.Context) error {
		return m.session.Query(`INSERT INTO `+m.names.Footfall+`.schema_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)`,
			step.Version, step.Name, step.Checksum, time.Now()).WithContext(ctx).Exec()
	})
	if err != nil {
		return fmt.Errorf("recording migration %d: %w", step.Version, err)
	}
	m.report("migrated to %d (%s)", step.Version, step.Name)
	return nil
}

// settle records what the tables are made for before the first one is made, so that a repeated run uses the same after an interruption. It
// returns an error if anything else is recorded. Once there are tables it records nothing: what they are made for may be known to other nodes.
func (m *migrator) settle(ctx context.Context, migrated bool) error {
	var table string
	err := cql.One(m.session.Query(`SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? LIMIT 1`, m.names.URLShortener).WithContext(ctx), &table)
	if err != nil {
		return fmt.Errorf("looking for tables: %w", err)
	}
	if table == "" && !migrated {
		for name, value := range map[string]string{planSetting: m.plan.Record(), models.VisitorsSetting: models.VisitorsInRows} {
			if _, err := Record(ctx, m.session, m.names, name, value); err != nil {
				return err
			}
		}
	}
	err = same(ctx, m.session, m.names, m.plan)
	if errors.Is(err, errBehind) {
		return fmt.Errorf("what the tables are made for is not known to the nodes that answer: bring all nodes up, run nodetool repair --full %s on each, then migrate again", m.names.Footfall)
	}
	return err
}

// exec fills in the placeholders, executes the statement, and waits until all nodes agree on the schema.
func (m *migrator) exec(ctx context.Context, cql string) error {
	cql = strings.NewReplacer("${footfall}", m.names.Footfall, "${urlshortener}", m.names.URLShortener,
		"${cardinality}", m.names.Cardinality, "${replication}", m.replication).Replace(cql)
	if err := m.session.Query(cql).WithContext(ctx).Exec(); err != nil {
		return err
	}
	return m.session.AwaitSchemaAgreement(ctx)
}
