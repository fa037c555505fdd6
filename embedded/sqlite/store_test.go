package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"footfall/consumer/store"
	"footfall/consumer/store/storetest"
	"footfall/embedded/sqlite"
	"footfall/models"
)

// open opens a store and a reader, as the query command does.
func open(t testing.TB, dir string) (*sqlite.Store, *sqlite.Reader) {
	t.Helper()
	return openPlan(t, dir, models.DefaultPlan())
}

func openPlan(t testing.TB, dir string, plan *models.Plan) (*sqlite.Store, *sqlite.Reader) {
	t.Helper()
	store, err := sqlite.Open(context.Background(), dir, plan)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := sqlite.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, reader
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, storetest.Reader) {
		db, reader := open(t, t.TempDir())
		return db, cells(reader, models.DefaultPlan())
	})
}

// More rows than one statement takes are stored, and each is found in its place.
func TestSeveralStatements(t *testing.T) {
	const n = sqlite.PerStatement + 10
	db, _ := open(t, t.TempDir())
	var ips []models.Sighting
	var at []models.Position
	var guids []models.Visitor
	var firsts [][]models.First
	var keys []models.Key
	for i := range n {
		name, p := fmt.Sprint(i), models.Position{Topic: "log", Offset: int64(i)}
		ips, at = append(ips, models.Sighting{Keyspace: models.URLShortener, Name: "abc", Visitor: name}), append(at, p)
		guids = append(guids, models.Visitor{Site: "site1", Month: models.Earliest.Month(), GUID: name})
		firsts = append(firsts, []models.First{{At: p, Day: models.Earliest.Day(), Features: []string{"a", "b"}, Of: models.Ways{1}}})
		keys = append(keys, models.Key{Keyspace: models.URLShortener, Name: name})
	}
	if err := errors.Join(db.Remember(t.Context(), ips, at), db.RememberFirsts(t.Context(), guids, firsts)); err != nil {
		t.Fatal(err)
	}
	if found, err := db.FirstSeen(t.Context(), ips); err != nil || !slices.Equal(found, at) {
		t.Errorf("%d IPs are not found where they were first, %v", n, err)
	}
	var found []models.Position
	err := db.Visitors(t.Context(), guids, func(i int, entry models.First) {
		if found = append(found, entry.At); entry.At != at[i] {
			t.Fatalf("guid %d was first at %v", i, entry.At)
		}
	})
	if err != nil || len(found) != n {
		t.Errorf("%d of %d guids are found, %v", len(found), n, err)
	}
	of := func(i int) store.LedgerRow {
		return store.LedgerRow{LedgerID: store.LedgerID{Partition: models.Partition{Topic: "log"}, Kind: store.KindOwner, Epoch: 1}, From: int64(i), To: int64(i) + 1}
	}
	writes := make([]store.KeyWrite, n)
	for i := range writes {
		writes[i] = store.KeyWrite{Key: keys[i], Ledger: []store.LedgerRow{of(i)}}
	}
	if err := errors.Join(db.Apply(t.Context(), writes)...); err != nil {
		t.Fatal(err)
	}
	read := 0
	err = db.Ledger(t.Context(), keys, func(i int, rows []store.LedgerRow) {
		if read++; len(rows) != 1 || rows[0] != of(i) {
			t.Fatalf("key %d has %v", i, rows)
		}
	})
	if err != nil || read != n {
		t.Errorf("%d of %d ledgers are found, %v", read, n, err)
	}
}

// A visitor whose row was inserted by hand, without a position, was seen, but not in an event of the log. What nobody can read remembers nothing.
func TestRowsByHand(t *testing.T) {
	store, _ := open(t, t.TempDir())
	visitor := []models.Sighting{{Keyspace: models.URLShortener, Name: "abc", Visitor: "203.0.113.9"}}
	if err := store.Remember(t.Context(), visitor, []models.Position{{}}); err != nil { // as if inserted by hand
		t.Fatal(err)
	}
	found, err := store.FirstSeen(t.Context(), visitor)
	if err != nil || found[0] == (models.Position{}) || found[0].Offset >= 0 {
		t.Errorf("first at %+v, %v; want one of no event", found, err)
	}

	guid, read := models.Visitor{Site: "by-hand", Month: models.Earliest.Month(), GUID: "g"}, 0
	for offset, seen := range []string{"", "nonsense", "{}", "[]", "[1, 2, 3, 4]", `["1973-03-03", "month:f", "fb"]`, `["1973-03-03", "month:f", "fb", "/"]`} {
		err := sqlite.Exec(store, fmt.Sprintf("INSERT INTO cardinality.GuidData VALUES ('by-hand', '1973-03-01', '%s', 'g', '', '', 0, %d, '%s')", models.Bucket("g"), offset, seen))
		if err != nil {
			t.Fatal(err)
		}
	}
	err = store.Visitors(t.Context(), []models.Visitor{guid}, func(_ int, entry models.First) {
		if read++; entry.At.Offset >= 0 || entry.Of != (models.Ways{15}) {
			t.Errorf("%+v is read; want one of no event", entry)
		}
	})
	if err != nil || read != 1 {
		t.Errorf("%d entries are read, %v; want the last alone", read, err)
	}
}

func TestLatest(t *testing.T) {
	store, reader := open(t, t.TempDir())
	storetest.RunLatest(t, store, func(ctx context.Context, link string, day models.Millis) (ids []string, err error) {
		table, err := reader.Query(ctx, "SELECT id FROM urlshortener.latestclicks WHERE short_url = ? AND day = ?", link, day.Time().Format("2006-01-02"))
		for _, row := range table.Rows {
			ids = append(ids, row[0])
		}
		return ids, err
	})
	plan, err := sqlite.Plan(store, "SELECT at, id FROM urlshortener.latestclicks WHERE short_url = 'abc' AND day = '2018-10-01' LIMIT 10")
	if err != nil || len(plan) != 1 || !strings.HasPrefix(plan[0], "SEARCH") {
		t.Errorf("the newest are found by %q, %v", plan, err)
	}
}

func newPlan(t testing.TB, features, metrics []string) *models.Plan {
	t.Helper()
	plan, err := models.NewPlan(features, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestPlans(t *testing.T) {
	for _, plan := range []*models.Plan{
		newPlan(t, []string{"page"}, models.AllMetrics()),
		newPlan(t, []string{"referrer", "page", "device", "feature1"}, models.AllMetrics()),
		newPlan(t, []string{"a", "b", "c", "d", "e", "f"}, []string{models.WeekUnique, models.HourViews}),
		newPlan(t, []string{"a", "b", "c"}, []string{models.MonthViews}),
	} {
		t.Run(plan.String(), func(t *testing.T) {
			storetest.RunPlan(t, plan, func(t *testing.T) (store.Store, storetest.Reader) {
				db, reader := openPlan(t, t.TempDir(), plan)
				return db, cells(reader, plan)
			})
		})
	}
}

// TestThePlanStaysWithItsTables: opening with another plan, or another way to remember visitors, fails with an error that names both.
func TestThePlanStaysWithItsTables(t *testing.T) {
	two, four := models.DefaultPlan(), newPlan(t, []string{"a", "b", "c", "d"}, models.AllMetrics())
	fewer := newPlan(t, models.DefaultFeatures(), []string{models.DayViews})
	refused := func(dir string, plan *models.Plan, tables *models.Plan) {
		t.Helper()
		store, err := sqlite.Open(t.Context(), dir, plan)
		if err == nil {
			_ = store.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tables.String()) || !strings.Contains(err.Error(), plan.String()) || !strings.Contains(err.Error(), "data.dir") {
			t.Errorf("opening: %v, want both plans and what to do", err)
		}
	}
	made := func(plan *models.Plan) string {
		t.Helper()
		dir := t.TempDir()
		store, err := sqlite.Open(t.Context(), dir, plan)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir := made(four)
	refused(dir, two, four)
	openPlan(t, dir, four)

	dir = made(two)
	refused(dir, four, two)
	refused(dir, fewer, two)
	db, _ := openPlan(t, dir, two)

	if got, err := db.Setting(t.Context(), models.VisitorsSetting, ""); err != nil || got != models.VisitorsInRows {
		t.Errorf("visitors are recorded as %q, %v; want %q", got, err, models.VisitorsInRows)
	}
	if err := sqlite.Exec(db, "UPDATE footfall.settings SET value = 'by month, 64 entries together' WHERE name = '"+models.VisitorsSetting+"'"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), dir, two); err == nil || !strings.Contains(err.Error(), "64 entries") || !strings.Contains(err.Error(), "data.dir") {
		t.Errorf("opening tables that remember visitors otherwise: %v", err)
	}
}

// TestReservedWords: a word that SQLite does not take as the name of a column cannot be the name of a feature.
func TestReservedWords(t *testing.T) {
	store, _ := open(t, t.TempDir())
	refused := 0
	for i, word := range strings.Fields(keywords) {
		table := "urlshortener.word" + strconv.Itoa(i)
		err := sqlite.Exec(store, "CREATE TABLE "+table+" ("+word+" TEXT NOT NULL, PRIMARY KEY ("+word+"))")
		if err == nil {
			err = sqlite.Exec(store, "UPDATE "+table+" SET "+word+" = 'x' WHERE "+word+" = 'y'")
		}
		if err == nil {
			continue
		}
		refused++
		if _, plan := models.NewPlan([]string{word}, models.AllMetrics()); plan == nil {
			t.Errorf("a feature may be called %s, but: %v", word, err)
		}
	}
	if refused < 60 {
		t.Errorf("SQLite refuses %d words only: is the list whole?", refused)
	}
}

// keywords are SQLite's, from its documentation.
const keywords = `abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case
	cast check collate column commit conflict constraint create cross current current_date current_time current_timestamp database
	default deferrable deferred delete desc detach distinct do drop each else end escape except exclude exclusive exists explain fail
	filter first following for foreign from full generated glob group groups having if ignore immediate in index indexed initially
	inner insert instead intersect into is isnull join key last left like limit match materialized natural no not nothing notnull null
	nulls of offset on or order others outer over partition plan pragma preceding primary query raise range recursive references
	regexp reindex release rename replace restrict returning right rollback row rows savepoint select set table temp temporary then
	ties to transaction trigger unbounded union unique update using vacuum values view virtual when where window with without`

// cells reads cells with an analyst's queries.
func cells(reader *sqlite.Reader, plan *models.Plan) storetest.Reader {
	return func(ctx context.Context, key models.Key, cell models.Cell) (int64, bool, error) {
		query, args := "SELECT value FROM urlshortener."+cell.Counter+" WHERE short_url = ?", []any{key.Name}
		day, hour := cell.At.Time().Format("2006-01-02"), cell.At.Time().Format("2006-01-02 15:04")
		if key.Keyspace == models.Cardinality {
			query = "SELECT visits FROM cardinality.Counts WHERE siteId = ? AND month_interval_start = ? AND metric_type = ? AND interval_start = ?"
			args = []any{key.Name, key.Month.Time().Format("2006-01-02"), cell.Counter, day}
			if cell.Counter == models.HourViews {
				args[3] = hour
			}
			for i, value := range key.Features.Values() {
				query, args = query+" AND "+plan.Features()[i]+" = ?", append(args, value)
			}
		}
		switch cell.Counter {
		case models.HourCounters:
			query, args = query+" AND hour = ?", append(args, hour)
		case models.DayCounters:
			query, args = query+" AND day = ?", append(args, day)
		case models.NumValues, models.SumValues:
			query, args = "SELECT "+cell.Counter+" FROM urlshortener.amountcounters WHERE short_url = ? AND day = ?", append(args, day)
		case models.CountryCounters:
			query, args = query+" AND country = ?", append(args, cell.Label)
		case models.ReferrerCounters:
			query, args = query+" AND referrer = ?", append(args, cell.Label)
		case models.ClickCounter, models.UniqueCounter, models.BotCounter:
		default:
			if key.Keyspace == models.URLShortener {
				query, args = "SELECT value FROM urlshortener.monthcounters WHERE short_url = ? AND dimension = ? AND month = ? AND label = ?",
					append(args, cell.Counter, day, cell.Label)
			}
		}
		table, err := reader.Query(ctx, query, args...)
		if err != nil || len(table.Rows) == 0 {
			return 0, false, err
		}
		value, err := strconv.ParseInt(table.Rows[0][0], 10, 64)
		return value, true, err
	}
}
