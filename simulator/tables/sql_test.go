package tables

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // counts the same events by SQL

	"footfall/simulator/mock"
)

// plan has n features. One landing page is empty: such a visit has no second feature.
func plan(n int) mock.Plan {
	p := mock.Plan{
		Site: "site1", Guids: 20, Visits: 250, Seed: 7,
		From: time.Date(2018, 12, 20, 0, 0, 0, 0, time.UTC), To: time.Date(2019, 1, 9, 0, 0, 0, 0, time.UTC), // a week in two years
	}
	for i, values := range [][]string{{"facebook.com", "google.com"}, {"/index.html", "", "it's"}, {"a", "b"}, {"x", "y", "z"}}[:n] {
		p.Features = append(p.Features, mock.Feature{Name: fmt.Sprintf("feature%d", i+1), Values: values})
	}
	return p
}

// load copies the CSV into a table of an SQL database, with all columns as text.
func load(t *testing.T, table, file string) *sql.DB {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/csv.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	statements := []string{"BEGIN", "CREATE TABLE " + table + " (" + strings.Join(lines[0], ", ") + ")"}
	for _, line := range lines[1:] {
		values := make([]string, len(line))
		for i, v := range line {
			values[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		}
		statements = append(statements, "INSERT INTO "+table+" VALUES ("+strings.Join(values, ", ")+")")
	}
	if _, err := db.Exec(strings.Join(append(statements, "COMMIT"), ";\n")); err != nil {
		t.Fatal(err)
	}
	return db
}

// sum runs a query whose first column is a name and whose second is its value.
func sum(t *testing.T, db *sql.DB, into map[string]int64, query string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		if _, twice := into[name]; twice {
			t.Fatalf("%s twice", name)
		}
		into[name] = value
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// quoted writes an SQL expression as Name writes a value.
func quoted(expressions ...string) string {
	var out []string
	for _, e := range expressions {
		out = append(out, "quote("+e+")")
	}
	return strings.Join(out, " || ', ' || ")
}

// masks calls f for every combination of features: its columns, empty for dropped features, and the condition that the kept ones are
// not empty.
func masks(n int, f func(columns []string, condition string, kept int)) {
	for mask := range 1 << n {
		columns, conditions, kept := make([]string, n), []string{"1"}, 0
		for i := range columns {
			if columns[i] = "''"; mask&(1<<i) != 0 {
				columns[i] = fmt.Sprintf("feature%d", i+1)
				conditions, kept = append(conditions, columns[i]+" <> ''"), kept+1
			}
		}
		f(columns, strings.Join(conditions, " AND "), kept)
	}
}

// The time of a visit, as SQL expressions.
const (
	sqlMonth  = "date(timestamp, 'unixepoch', 'start of month')"
	sqlMonday = "date(timestamp, 'unixepoch', 'weekday 0', '-6 days')"
	sqlDay    = "date(timestamp, 'unixepoch')"
	sqlHour   = "CASE WHEN timestamp % 86400 < 3600 THEN date(timestamp, 'unixepoch') ELSE strftime('%Y-%m-%d %H:00:00', timestamp, 'unixepoch') END"
)

func TestCellsEqualSQLOverTheCSV(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("%d features", n), func(t *testing.T) {
			p := plan(n)
			visits := mock.MakeVisits(p)
			var file bytes.Buffer
			if err := WriteVisits(&file, p.Names(), visits); err != nil {
				t.Fatal(err)
			}
			db := load(t, "visits", file.String())
			want := map[string]int64{}
			masks(n, func(columns []string, condition string, kept int) {
				features := quoted(columns...)
				from := " FROM visits WHERE " + condition + " GROUP BY 1"
				count := func(metric, month, start, value string) {
					sum(t, db, want, "SELECT 'Counts(' || "+quoted("'site1'", month)+" || ', ' || "+features+" || ', ' || "+
						quoted("'"+metric+"'", start)+" || ')', "+value+from)
				}
				for size, of := range map[string][2]string{
					"month": {sqlMonth, sqlMonth}, "day": {sqlDay, sqlMonth}, "week": {sqlMonday, "date(" + sqlMonday + ", 'start of month')"},
				} {
					count(size+"_unique", of[1], of[0], "COUNT(DISTINCT guid)")
					// SQLite has no MD5, so the bucket is compared apart.
					sum(t, db, want, "SELECT 'GuidData(' || "+quoted("'site1'", "'"+size+"'", of[0], "guid")+" || ', ' || "+features+" || ')', 1"+from)
				}
				if kept < 2 {
					count("month_views", sqlMonth, sqlMonth, "COUNT(*)")
					count("day_views", sqlMonth, sqlDay, "COUNT(*)")
					count("hour_views", sqlMonth, sqlHour, "COUNT(*)")
				}
			})
			got := Cells{}
			got.AddVisits(p.Site, Metrics, visits)
			compare(t, want, withoutBuckets(t, got))
		})
	}
}

// withoutBuckets removes the bucket, the fourth value, from the names of GuidData's rows.
func withoutBuckets(t *testing.T, cells Cells) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for name, value := range cells {
		if strings.HasPrefix(name, "GuidData(") {
			parts := strings.SplitN(name, ", ", 5)
			name = strings.Join(append(parts[:3:3], parts[4]), ", ")
		}
		if _, twice := out[name]; twice {
			t.Fatalf("%s is in two buckets", name)
		}
		out[name] = value
	}
	return out
}

func compare(t *testing.T, want, got map[string]int64) {
	t.Helper()
	if len(want) < 100 {
		t.Errorf("%d rows only: nothing to compare", len(want))
	}
	different := Diff(want, got)
	for _, line := range different[:min(len(different), 10)] {
		t.Error(line)
	}
}

func TestTextEqualsSQLOverTheCSV(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		p := plan(n)
		visits := mock.MakeVisits(p)
		var file, text bytes.Buffer
		if err := WriteVisits(&file, p.Names(), visits); err != nil {
			t.Fatal(err)
		}
		if err := WriteText(&text, p.Site, visits); err != nil {
			t.Fatal(err)
		}
		db := load(t, "visits", file.String())
		want := map[string]int64{}
		masks(n, func(columns []string, condition string, _ int) {
			features, month := strings.Join(columns, " || ':' || "), "unixepoch("+sqlMonth+")"
			from := " FROM visits WHERE " + condition + " GROUP BY 1"
			sum(t, db, want, "SELECT 'site1_cf_guid_data site1:month:' || "+month+" || ':' || guid || ':' || "+features+" || ': visits', COUNT(*)"+from)
			sum(t, db, want, "SELECT 'site1_cf_monthly_data site1:' || "+month+" || ':' || "+features+" || ' month_unique:' || "+month+" || ':visits', COUNT(DISTINCT guid)"+from)
		})
		compare(t, want, parseText(t, text.String()))
	}
}

// parseText reads the tables back: column family, partition key and column make a name.
func parseText(t *testing.T, text string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	family, key := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "Column Family: '"):
			family = strings.TrimSuffix(strings.TrimPrefix(line, "Column Family: '"), "'")
		case strings.HasPrefix(line, "Partition Key: '"):
			key = strings.TrimSuffix(strings.TrimPrefix(line, "Partition Key: '"), "'")
		default:
			var column string
			var value int64
			if _, err := fmt.Sscanf(strings.ReplaceAll(line, "'", " "), "=>(column= %s , value= %d )", &column, &value); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			out[family+" "+key+" "+column] = value
		}
	}
	return out
}

func TestClicksEqualSQLOverTheCSV(t *testing.T) {
	p := plan(1)
	p.Clicks, p.Links, p.Countries, p.Referers = 500, []string{"a", "b'c"}, []string{"IT", "DE"}, []string{"x", "y"}
	clicks := mock.MakeClicks(p)
	var file bytes.Buffer
	if err := WriteClicks(&file, clicks); err != nil {
		t.Fatal(err)
	}
	db := load(t, "clicks", file.String())
	want := map[string]int64{}
	people := " FROM clicks WHERE bot = 'false' GROUP BY 1"
	for table, label := range map[string]string{"hourcounters": sqlHour, "daycounters": sqlDay, "countrycounters": "country", "referrercounters": "referrer"} {
		sum(t, db, want, "SELECT '"+table+"(' || "+quoted("short_url", label)+" || ')', COUNT(*)"+people)
	}
	for _, dimension := range append([]string{"country", "referrer"}, mock.AgentDimensions[:]...) {
		sum(t, db, want, "SELECT 'monthcounters(' || "+quoted("short_url", "'"+dimension+"'", sqlMonth, dimension)+" || ')', COUNT(*)"+people)
	}
	sum(t, db, want, "SELECT 'clickcounter(' || quote(short_url) || ')', COUNT(*)"+people)
	sum(t, db, want, "SELECT 'uniquecounter(' || quote(short_url) || ')', COUNT(DISTINCT ip)"+people)
	sum(t, db, want, "SELECT 'uniquecounterips(' || "+quoted("short_url", "ip")+" || ')', 1"+people)
	sum(t, db, want, "SELECT 'botcounter(' || quote(short_url) || ')', COUNT(*) FROM clicks WHERE bot = 'true' GROUP BY 1")
	amounts := " FROM clicks WHERE bot = 'false' AND amount <> '' GROUP BY 1"
	sum(t, db, want, "SELECT 'amountcounters.num_values(' || "+quoted("short_url", sqlDay)+" || ')', COUNT(*)"+amounts)
	sum(t, db, want, "SELECT 'amountcounters.sum_values(' || "+quoted("short_url", sqlDay)+" || ')', SUM(CAST(amount AS INTEGER))"+amounts)
	got := Cells{}
	got.AddClicks(Metrics, clicks)
	compare(t, want, got)
}
