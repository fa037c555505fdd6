package e2e

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/oracle"
)

// query is a SELECT of one partition, in the subset of CQL that analysts need.
type query struct {
	columns []string
	table   string
	where   []condition
	limit   int // 0: none
}

// condition compares a column with a value in the form that cells have.
type condition struct{ column, by, value string }

var (
	selectPattern = regexp.MustCompile(`(?i)^SELECT (.+) FROM (\S+) WHERE (.+?)(?: LIMIT (\d+))?$`)
	wherePattern  = regexp.MustCompile(`(?i)^(\w+) (=|>=|<) (?:'(.*)'|minTimeuuid\('(.*)\+0000'\))$`)
	andPattern    = regexp.MustCompile(`(?i)\s+AND\s+`)
	commaPattern  = regexp.MustCompile(`\s*,\s*`)
)

func parseQuery(text string) (query, error) {
	parts := selectPattern.FindStringSubmatch(text)
	if parts == nil {
		return query{}, fmt.Errorf("not of the form SELECT … FROM … WHERE …")
	}
	q := query{
		columns: commaPattern.Split(strings.ToLower(parts[1]), -1), table: strings.ToLower(parts[2]),
	}
	for _, text := range andPattern.Split(parts[3], -1) {
		c := wherePattern.FindStringSubmatch(text)
		if c == nil {
			return query{}, fmt.Errorf("neither an equality nor a bound: %s", text)
		}
		q.where = append(q.where, condition{strings.ToLower(c[1]), c[2], canonical(strings.ReplaceAll(c[3]+c[4], "''", "'"))})
	}
	if parts[4] != "" {
		q.limit, _ = strconv.Atoi(parts[4]) // the pattern lets digits through only
	}
	return q, nil
}

// answer is what the query must return, in the order of the table.
func (q query) answer(cells oracle.Cells) [][]string {
	var rows []map[string]string
	for name, value := range cells {
		table, row := split(name)
		row["value"], row["visits"] = strconv.FormatInt(value, 10), strconv.FormatInt(value, 10)
		if table == q.table+".num_values" {
			amounts(row, value, cells[strings.Replace(name, ".num_values|", ".sum_values|", 1)])
			table = q.table
		}
		if table == q.table {
			rows = append(rows, row)
		}
	}
	return q.pick(rows)
}

// pick is what the query must return if these are the table's rows.
func (q query) pick(all []map[string]string) [][]string {
	var rows []map[string]string
	for _, row := range all {
		if q.matches(row) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, compareRows)
	var out [][]string
	for _, row := range rows {
		var values []string
		for _, c := range q.columns {
			values = append(values, row[c])
		}
		out = append(out, values)
	}
	if q.limit > 0 && len(out) > q.limit {
		out = out[:q.limit]
	}
	return out
}

// cameFrom is what a query of GuidData must tell, by the oracle: with which values of feature1 the visitor came in that month.
func (q query) cameFrom(cells oracle.Cells) [][]string {
	var rows []map[string]string
	for name := range cells {
		if table, row := split(name); table == q.table && row["interval_size"] == "month" && row["feature1"] != "" && row["feature2"] == "" {
			row["month_interval_start"], row["seen"] = row["interval_start"], row["feature1"]
			rows = append(rows, row)
		}
	}
	return q.pick(rows)
}

// quoted is a text in a list of CQL or JSON.
var quoted = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)

// cameFrom reads the same from the rows, as docs/queries.cql says: each is a list of a day, what was new, feature1, feature2.
func cameFrom(rows [][]string) (values [][]string) {
	for _, row := range rows {
		seen := quoted.FindAllStringSubmatch(row[0], 3)
		if len(seen) < 3 {
			return [][]string{{"no entry: " + row[0]}}
		}
		if day, from := seen[0][1]+seen[0][2], seen[2][1]+seen[2][2]; strings.HasPrefix(day, "2018-10-") && from != "" {
			values = append(values, []string{from})
		}
	}
	slices.SortFunc(values, slices.Compare)
	return slices.CompactFunc(values, slices.Equal)
}

// amounts fills in a row of amountcounters: its two counters and their average.
func amounts(row map[string]string, number, sum int64) {
	row["num_values"], row["sum_values"] = strconv.FormatInt(number, 10), strconv.FormatInt(sum, 10)
	row["cast(sum_values as double) / num_values as average"] = short(float64(sum) / float64(number))
}

// short formats a fraction with as many digits as all shells show.
func short(average float64) string { return strconv.FormatFloat(average, 'g', 5, 64) }

// rounded shortens the averages in an answer.
func (q query) rounded(rows [][]string) [][]string {
	for i, column := range q.columns {
		for _, row := range rows {
			if average, err := strconv.ParseFloat(row[i], 64); err == nil && strings.HasSuffix(column, " as average") {
				row[i] = short(average)
			}
		}
	}
	return rows
}

func (q query) matches(row map[string]string) bool {
	for _, c := range q.where {
		switch order := cmp.Compare(row[c.column], c.value); {
		case c.by == "=" && order != 0, c.by == ">=" && order < 0, c.by == "<" && order >= 0:
			return false
		}
	}
	return true
}

// compareRows orders the rows of a partition as the tables do: newest hour or day first, all other columns ascending. Values have the
// form of cells, so comparing text also orders times.
func compareRows(a, b map[string]string) int {
	return cmp.Or(
		cmp.Compare(b["hour"], a["hour"]), cmp.Compare(b["day"], a["day"]), cmp.Compare(b["at"], a["at"]),
		cmp.Compare(a["dimension"], b["dimension"]), cmp.Compare(b["month"], a["month"]), cmp.Compare(a["label"], b["label"]),
		cmp.Compare(a["metric_type"], b["metric_type"]), cmp.Compare(a["interval_start"], b["interval_start"]),
		cmp.Compare(a["country"], b["country"]), cmp.Compare(a["referrer"], b["referrer"]), cmp.Compare(a["ip"], b["ip"]),
		cmp.Compare(a["guid"], b["guid"]), cmp.Compare(a["feature1"], b["feature1"]), cmp.Compare(a["feature2"], b["feature2"]),
		cmp.Compare(a["short_url"], b["short_url"]), cmp.Compare(a["siteid"], b["siteid"]), cmp.Compare(a["value"], b["value"]),
	)
}

// split splits the name of a cell into the table and the columns.
func split(name string) (table string, row map[string]string) {
	table, rest, _ := strings.Cut(name, "|")
	row = map[string]string{}
	for rest != "" {
		column, value, _ := strings.Cut(rest, "=")
		text, err := strconv.QuotedPrefix(value)
		if err == nil {
			row[column], _ = strconv.Unquote(text) // it is quoted
			rest = strings.TrimPrefix(value[len(text):], "|")
			continue
		}
		row[column], rest, _ = strings.Cut(value, "|")
	}
	return table, row
}

// canonical writes a time in the form of cells and returns any other text unchanged.
func canonical(text string) string {
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05.000000-0700"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}

func TestQueriesOnTheOracle(t *testing.T) {
	hour := func(h int) time.Time { return time.Date(2018, 10, 1, h, 0, 0, 0, time.UTC) }
	cells := oracle.Cells{
		oracle.Name("urlshortener.hourcounters", "short_url", "abc", "hour", hour(1)): 1,
		oracle.Name("urlshortener.hourcounters", "short_url", "abc", "hour", hour(3)): 3,
		oracle.Name("urlshortener.hourcounters", "short_url", "abc", "hour", hour(2)): 2,
		oracle.Name("urlshortener.hourcounters", "short_url", "ab|", "hour", hour(4)): 4,
		oracle.Name("urlshortener.clickcounter", "short_url", "abc"):                  9,
	}
	q, err := parseQuery("SELECT hour, value FROM urlshortener.hourcounters WHERE short_url = 'abc' LIMIT 2")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"2018-10-01T03:00:00Z", "3"}, {"2018-10-01T02:00:00Z", "2"}}
	if got := q.answer(cells); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", got, want)
	}
	q, err = parseQuery("SELECT value FROM urlshortener.hourcounters WHERE short_url = 'abc' AND hour >= '2018-10-01 02:00' AND hour < '2018-10-01 03:00'")
	if err != nil {
		t.Fatal(err)
	}
	if got := q.answer(cells); fmt.Sprint(got) != "[[2]]" {
		t.Errorf("a range has %q", got)
	}
	seen := func(size string, month time.Month, site, from, page string) string {
		return oracle.Name("cardinality.guiddata", "siteid", site, "interval_size", size, "interval_start", time.Date(2018, month, 1, 0, 0, 0, 0, time.UTC),
			"bucket", "b2", "guid", "g", "feature1", from, "feature2", page)
	}
	q, err = parseQuery("SELECT seen FROM cardinality.GuidData WHERE siteId = 's' AND month_interval_start = '2018-10-01' AND bucket = 'b2' AND guid = 'g'")
	if err != nil {
		t.Fatal(err)
	}
	visitors := oracle.Cells{
		seen("month", 10, "s", "t.co", ""): 1, seen("month", 10, "s", "fb", ""): 1, seen("month", 10, "s", "", ""): 1, seen("month", 10, "s", "", "/"): 1,
		seen("month", 10, "s", "fb", "/"): 1, seen("month", 11, "s", "x", ""): 1, seen("day", 10, "s", "y", ""): 1, seen("month", 10, "r", "z", ""): 1,
	}
	rows := [][]string{{`['2018-10-01', 'month:1', '', '']`}, {`['2018-10-02', 'month:e', 't.co', '/it''s']`}, {`["2018-10-31","month:2","fb","/\"a"]`},
		{`['2018-10-31', 'day:3', 'fb', '/']`}, {`['2018-09-30', 'week:2', 'x', '']`}}
	if got := cameFrom(rows); fmt.Sprint(got) != "[[fb] [t.co]]" || fmt.Sprint(q.cameFrom(visitors)) != fmt.Sprint(got) {
		t.Errorf("the visitor came from %v, by the oracle from %v", got, q.cameFrom(visitors))
	}
	for _, text := range statements(promised) {
		if _, err := parseQuery(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
