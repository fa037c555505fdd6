package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/consumer/store/storetest"
	"footfall/internal/cql/cqltest"
	"footfall/internal/tables"
	"footfall/migrations"
	"footfall/models"
)

func testMigrate(t *testing.T, cfg configs.Cassandra, plan *models.Plan) (steps []string) {
	t.Helper()
	err := migrations.Apply(t.Context(), cfg, plan, func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) })
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func testOpen(t *testing.T, cfg configs.Cassandra, plan *models.Plan) *Store {
	t.Helper()
	store, err := Open(t.Context(), cfg, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// All subtests share one schema: Cassandra takes seconds to create it.
func TestStore(t *testing.T) {
	cfg, plan := cqltest.Config(t), models.DefaultPlan()
	testMigrate(t, cfg, plan)
	storetest.Run(t, func(t *testing.T) (store.Store, storetest.Reader) {
		db := testOpen(t, cfg, plan)
		return db, db.readCell
	})
	t.Run("Latest", func(t *testing.T) {
		db := testOpen(t, cfg, plan)
		storetest.RunLatest(t, db, db.readLatest)
	})
	t.Run("Lists", func(t *testing.T) {
		db := testOpen(t, cfg, plan)
		storetest.RunLists(t, db, lists{db})
	})
	t.Run("Settings", func(t *testing.T) { testSettings(t, testOpen(t, cfg, plan)) })
	t.Run("Leases", func(t *testing.T) { testLeases(t, testOpen(t, cfg, plan)) })
	t.Run("Notices", func(t *testing.T) { testNotices(t, testOpen(t, cfg, plan)) })
	t.Run("LocalTransactions", func(t *testing.T) { testLocalTransactions(t, testOpen(t, cfg, plan)) })
	t.Run("CountMismatches", func(t *testing.T) { testCountMismatches(t, testOpen(t, cfg, plan)) })
	t.Run("Expiry", func(t *testing.T) { testExpiry(t, testOpen(t, cfg, plan)) })
	t.Run("ForgetClocks", func(t *testing.T) { testForgetClocks(t, testOpen(t, cfg, plan)) })
	t.Run("DropClocks", func(t *testing.T) { testDropClocks(t, testOpen(t, cfg, plan)) })
	t.Run("LedgerRows", func(t *testing.T) {
		db := testOpen(t, cfg, plan)
		testLedgerFromTheFirstOffset(t, db)
		testLedgerOfManyRows(t, db)
	})
	t.Run("Walk", func(t *testing.T) { testWalk(t, testOpen(t, cfg, plan)) })
	t.Run("Walked", func(t *testing.T) { testWalked(t, testOpen(t, cfg, plan)) })
	t.Run("Tokens", func(t *testing.T) { testTokens(t, testOpen(t, cfg, plan)) })
	t.Run("ByHand", func(t *testing.T) { testByHand(t, testOpen(t, cfg, plan)) })
	t.Run("PagesOfRows", func(t *testing.T) { testPagesOfRows(t, testOpen(t, cfg, plan)) })
	t.Run("RowsByHand", func(t *testing.T) { testRowsByHand(t, testOpen(t, cfg, plan)) })
	t.Run("Examine", func(t *testing.T) { testExamine(t, testOpen(t, cfg, plan)) })
	t.Run("Links", func(t *testing.T) { testLinks(t, testOpen(t, cfg, plan)) })
	t.Run("BotClicks", func(t *testing.T) { testBotClicks(t, testOpen(t, cfg, plan)) })
	t.Run("Tables", func(t *testing.T) { testTables(t, testOpen(t, cfg, plan), cfg.KeyspaceSuffix) })
}

// A row without a position, which somebody inserted by hand, says that the visitor was seen, but by no event of the log.
func testByHand(t *testing.T, s *Store) {
	insert := `INSERT INTO ` + s.names.URLShortener + `.uniquecounterips (short_url, ip`
	for ip, cql := range map[string]string{
		"192.0.2.1": insert + `) VALUES ('by-hand', ?)`,
		"192.0.2.2": insert + `, topic) VALUES ('by-hand', ?, 'clicks')`,
		"192.0.2.3": insert + `, kafka_partition, kafka_offset) VALUES ('by-hand', ?, 0, 0)`,
	} {
		if err := s.session.Query(cql, ip).Exec(); err != nil {
			t.Fatal(err)
		}
		found, err := s.FirstSeen(t.Context(), []models.Sighting{{Keyspace: models.URLShortener, Name: "by-hand", Visitor: ip}})
		if err != nil || found[0] == (models.Position{}) || found[0].Offset >= 0 {
			t.Errorf("%s: first at %+v, %v; want one of no event", ip, found, err)
		}
	}
}

// firstEvents looks for the first events of sightings.
func firstEvents(t *testing.T, s *Store, sightings []models.Sighting) map[models.Sighting]models.Position {
	t.Helper()
	first := map[models.Sighting]models.Position{}
	for _, sighting := range sightings {
		first[sighting] = models.Position{}
	}
	if err := store.FirstEvents(t.Context(), s, first); err != nil {
		t.Fatal(err)
	}
	return first
}

// Entries of visitors' rows that nobody can read remember nothing, and those that can be read are found.
func testRowsByHand(t *testing.T, s *Store) {
	visit := &models.Visit{SiteID: "by-hand", TS: models.Earliest, Features: []string{"fb", "/"}}
	month := visit.TS.Month()
	for guid, f := range map[string]struct {
		columns string
		found   bool
	}{
		"null":         {`topic, kafka_partition, kafka_offset) VALUES (?, ?, ?, ?, '', 'visits', 0, 0)`, false},
		"empty":        {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, [])`, false},
		"few":          {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, ['1973-03-03', 'month:f', 'fb'])`, false},
		"many":         {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, ['1973-03-03', 'month:f', 'fb', '/', ''])`, false},
		"no day":       {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, ['today', 'month:f', 'fb', '/'])`, false},
		"no ways":      {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, ['1973-03-03', '', 'fb', '/'])`, false},
		"no interval":  {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, ['1973-03-03', 'year:f', 'fb', '/'])`, false},
		"no number":    {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, ['1973-03-03', 'month:g', 'fb', '/'])`, false},
		"large number": {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', 'visits', 0, 0, ['1973-03-03', 'month:ffffffffffffffff', 'fb', '/'])`, true},
		"no topic":     {`topic, kafka_partition, kafka_offset, seen) VALUES (?, ?, ?, ?, '', '', 0, 0, ['1973-03-03', 'month:f', 'fb', '/'])`, true},
	} {
		insert := `INSERT INTO ` + s.names.Cardinality + `.GuidData (siteId, month_interval_start, bucket, guid, under, ` + f.columns
		if err := s.session.Query(insert, visit.SiteID, month.Time(), models.Bucket(guid), guid).Exec(); err != nil {
			t.Fatal(err)
		}
		visit.GUID = guid
		for sighting, at := range firstEvents(t, s, visit.Sightings()) {
			if month := sighting.Interval == models.IntervalMonth; (at != models.Position{}) != (f.found && month) {
				t.Errorf("%s: %+v is first at %+v", guid, sighting, at)
			}
		}
	}
	err := s.CountMismatches(t.Context(), visit.TS+100*86_400_000, func(string) {}, func(store.CountMismatch) {})
	if err != nil {
		t.Error(err)
	}
}

// A schema that was made for one plan is refused to a consumer with another.
func TestPlan(t *testing.T) {
	plan, err := models.NewPlan([]string{"referrer", "page", "device", "feature1"}, []string{models.MonthUnique, models.DayUnique, models.DayViews})
	if err != nil {
		t.Fatal(err)
	}
	cfg := cqltest.Config(t)
	testMigrate(t, cfg, plan)
	storetest.RunPlan(t, plan, func(t *testing.T) (store.Store, storetest.Reader) {
		db := testOpen(t, cfg, plan)
		return db, db.readCell
	})
	refused := func(other *models.Plan) {
		t.Helper()
		wanted := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), plan.String()) || !strings.Contains(err.Error(), other.String()) || !strings.Contains(err.Error(), "keyspace_suffix") {
				t.Errorf("%s: %v, want both plans and what to do", what, err)
			}
		}
		db, err := Open(t.Context(), cfg, other)
		if err == nil {
			db.Close()
		}
		wanted("opening", err)
		wanted("migrating", migrations.Apply(t.Context(), cfg, other, func(string, ...any) {}))
	}
	refused(models.DefaultPlan())
	fewer, err := models.NewPlan(plan.Features(), []string{models.DayViews})
	if err != nil {
		t.Fatal(err)
	}
	refused(fewer)
	t.Run("ReservedWords", func(t *testing.T) { testReservedWords(t, testOpen(t, cfg, plan)) })
}

// Every word that models allows as the name of a feature is valid in CQL as a column. The tables lack such columns: if the grammar accepts
// the word, Cassandra says that the column is undefined.
func testReservedWords(t *testing.T, store *Store) {
	var wg sync.WaitGroup
	allowed := 0
	for _, word := range strings.Fields(cqlWords) {
		if _, err := models.NewPlan([]string{word}, models.AllMetrics()); err != nil {
			continue
		}
		allowed++
		wg.Go(func() {
			err := store.session.Query(`SELECT ` + word + ` FROM ` + store.names.Footfall + `.owners WHERE ` + word + ` = 'x'`).Exec()
			var answer gocql.RequestError
			if !errors.As(err, &answer) || answer.Code() != gocql.ErrCodeInvalid {
				t.Errorf("a feature may be called %s, but: %v", word, err)
			}
		})
	}
	wg.Wait()
	if allowed < 80 {
		t.Errorf("a feature may have %d of all words of CQL: is the list of words complete?", allowed)
	}
}

// cqlWords are the keywords of CQL, from its grammar.
const cqlWords = `access add aggregate all allow alter and any apply as asc ascii authorize batch begin between bigint blob boolean by
	called cast clustering columnfamily columnfamilies columns compact contains count counter create custom date datacenters decimal default
	delete desc describe distinct double drop duration entries execute exists filtering finalfunc float from frozen full function functions
	grant group hashed if in index inet infinity initcond input insert int into is isnull json key keys keyspace keyspaces language like limit list
	login map masked mask materialized mbean mbeans modify nan nologin norecursive nosuperuser not null of on only option options or order
	partition password per permission permissions primary rename replace returns revoke role roles schema select set sfunc smallint static storage
	stype superuser table tables text time timestamp timeuuid tinyint to token trigger true false truncate ttl tuple type types unlogged unmask unset
	update use user users using uuid values varchar varint vector view where with writetime maxwritetime identity ann`

func (s *Store) readLatest(ctx context.Context, link string, day models.Millis) (ids []string, err error) {
	scanner := s.session.Query(`SELECT id FROM `+s.names.URLShortener+`.latestclicks WHERE short_url = ? AND day = ?`, link, day.Time()).
		WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		var id string
		if err := scanner.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, scanner.Err()
}

// readCell reads a counter as an analyst would.
func (s *Store) readCell(ctx context.Context, key models.Key, cell models.Cell) (int64, bool, error) {
	var value int64
	counter := s.cql.counter[cell.Counter]
	err := s.session.Query(counter.read, tables.AppendCell(keyArgs(key), counter.rows, cell, tables.Moment)...).WithContext(ctx).Scan(&value)
	if errors.Is(err, gocql.ErrNotFound) {
		return 0, false, nil
	}
	return value, err == nil, err
}

func testSettings(t *testing.T, store *Store) {
	if got := store.WriteTimeout(); got < 2*time.Second || got > time.Minute {
		t.Errorf("write timeout %v: not a setting of the server", got)
	}
	nodes, err := store.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].CommitlogSync != "group" {
		t.Errorf("commitlog_sync of our own stack is %+v, %v: want group", nodes, err)
	}
}

// requestError is an error response of Cassandra with a code of the test's choice.
type requestError int

func (e requestError) Code() int       { return int(e) }
func (e requestError) Message() string { return "refused" }
func (e requestError) Error() string   { return "refused" }

func TestOutcome(t *testing.T) {
	keys := 1
	f := func(err error, unknown bool) {
		t.Helper()
		got := outcome(err, keys)
		if !errors.Is(got, err) || errors.Is(got, store.ErrUnknownOutcome) != unknown {
			t.Errorf("outcome(%v) = %v, want unknown %v", err, got, unknown)
		}
	}
	// Errors after which nothing is applied.
	f(gocql.ErrNoConnections, false)
	f(gocql.ErrNoStreams, false)
	f(gocql.ErrSessionClosed, false)
	f(requestError(gocql.ErrCodeUnavailable), false)
	f(requestError(gocql.ErrCodeInvalid), false)
	f(fmt.Errorf("wrapped: %w", gocql.ErrNoConnections), false)
	// Everything else.
	f(requestError(gocql.ErrCodeWriteTimeout), true)
	f(requestError(gocql.ErrCodeWriteFailure), true)
	f(requestError(gocql.ErrCodeOverloaded), true)
	f(requestError(gocql.ErrCodeServer), true)
	f(gocql.ErrTimeoutNoResponse, true)
	f(gocql.ErrConnectionClosed, true)
	f(context.Canceled, true)
	f(context.DeadlineExceeded, true)
	f(errors.New("connection reset by peer"), true)
	keys = 2 // one key may be unavailable and the other applied
	f(requestError(gocql.ErrCodeUnavailable), true)
	f(requestError(gocql.ErrCodeInvalid), false)
	f(gocql.ErrNoConnections, false)
	f(requestError(gocql.ErrCodeWriteTimeout), true)
	if outcome(nil, 1) != nil || outcome(nil, 2) != nil {
		t.Error("an acknowledged write has an error")
	}
}
