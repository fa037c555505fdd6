package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
)

// startReader starts a reader on the deployment's tables.
func (d *real) startReader(t *testing.T) (url string) {
	t.Helper()
	url, _ = d.startReaderWithMetrics(t)
	return url
}

// startReaderWithMetrics also tells where its metrics are.
func (d *real) startReaderWithMetrics(t *testing.T) (url, admin string) {
	t.Helper()
	p := start(t, process.Command{Name: "reader", Path: binaries.Path(t, "reader"), Env: d.env, Dir: d.dir})
	address, err := p.Expect(patiently(t), producerListening) // readers log the same
	if err != nil {
		t.Fatal(err)
	}
	if admin, err = p.Expect(patiently(t), adminListening); err != nil {
		t.Fatal(err)
	}
	return "http://" + address, "http://" + admin
}

// TestReaderEqualsTheOracle: every cell that can be asked for, as the reader answers it, and no other.
func TestReaderEqualsTheOracle(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		d := newEmbedded(t)
		readerEquals(t, d, d.reader, 41, 600)
	})
	t.Run("real", func(t *testing.T) {
		d := newReal(t, 1)
		readerEquals(t, d, d.startReader(t), 42, 600)
	})
}

func readerEquals(t *testing.T, d deployment, reader string, seed uint64, n int) {
	o, _ := send(t, d, load.Make(seed, n, d.kept().features...), load.Order(seed, n), nil)
	d.settle(t, o)
	w := &walk{t: t, reader: reader, want: oracle.Cells{}, got: oracle.Cells{}, asked: map[string]bool{}, listed: map[string]bool{}}
	for name, value := range o.Cells() {
		if table, columns := columnsOf(name); w.asks(table, columns) {
			w.want[name] = value
		}
	}
	differences := oracle.Diff(w.want, w.got)
	for _, line := range differences[:min(20, len(differences))] {
		t.Error(line)
	}
	if len(w.want) < 1000 || len(differences) > 0 {
		t.Fatalf("%d of %d cells differ", len(differences), len(w.want))
	}
	t.Logf("%d cells equal, by %d questions; %d names listed", len(w.want), len(w.asked), len(w.listed))
}

// walk asks a reader for all that has a cell, each question once, and notes the answers as cells.
type walk struct {
	t         *testing.T
	reader    string
	want, got oracle.Cells
	asked     map[string]bool
	listed    map[string]bool
}

var column = regexp.MustCompile(`\|([a-z_0-9]+)=("(?:[^"\\]|\\.)*"|[^|"]+)`)

// columnsOf takes the name of a cell apart.
func columnsOf(name string) (table string, columns map[string]string) {
	table, rest, _ := strings.Cut(name, "|")
	columns = map[string]string{}
	for _, m := range column.FindAllStringSubmatch("|"+rest, -1) {
		if text, err := strconv.Unquote(m[2]); err == nil {
			m[2] = text
		}
		columns[m[1]] = m[2]
	}
	return table, columns
}

// asks asks the questions that have a cell of this table in their answer. It tells whether there are any.
func (w *walk) asks(table string, c map[string]string) bool {
	link := "/v1/stats/links/" + url.PathEscape(c["short_url"])
	switch strings.TrimPrefix(table, "urlshortener.") {
	case "clickcounter", "botcounter", "uniquecounter":
		w.ask(link, nil, func(a answer) {
			for name, of := range map[string]string{"clickcounter": "clicks", "botcounter": "bots", "uniquecounter": "unique"} {
				if value := w.number(a[of]); value != 0 {
					w.note(oracle.Name("urlshortener."+name, "short_url", c["short_url"]), value)
				}
			}
		})
	case "hourcounters":
		w.rows(link+"/series", url.Values{"by": {"hour"}}, table, "clicks", "short_url", c["short_url"], "hour", "start")
	case "daycounters":
		w.rows(link+"/series", url.Values{"by": {"day"}}, table, "clicks", "short_url", c["short_url"], "day", "start")
		w.lists("/v1/stats/links", url.Values{"day": {c["day"][:10]}}, "short_url", c["short_url"])
	case "referrercounters":
		w.rows(link+"/referrers", nil, table, "clicks", "short_url", c["short_url"], "referrer", "referrer")
	case "countrycounters":
		w.rows(link+"/countries", nil, table, "clicks", "short_url", c["short_url"], "country", "country")
	case "amountcounters.num_values":
		w.rows(link+"/amounts", nil, table, "num", "short_url", c["short_url"], "day", "start")
	case "amountcounters.sum_values":
		w.rows(link+"/amounts", nil, table, "sum", "short_url", c["short_url"], "day", "start")
	case "cardinality.counts":
		w.counts(c)
	default:
		return false
	}
	return true
}

// counts asks for the series that a cell of Counts is in: the one of its month.
func (w *walk) counts(c map[string]string) {
	start, err := time.Parse(time.RFC3339, c["interval_start"])
	if err != nil {
		w.t.Fatal(err)
	}
	unit, metric, _ := strings.Cut(c["metric_type"], "_")
	from := start.AddDate(0, 0, 1-start.Day()).Truncate(24 * time.Hour)
	to := from.AddDate(0, 1, 0)
	if unit == "week" { // those whose Monday is in the month
		for from.Weekday() != time.Monday {
			from = from.AddDate(0, 0, 1)
		}
		for to.Weekday() != time.Monday {
			to = to.AddDate(0, 0, 1)
		}
	}
	q := url.Values{"metric": {metric}, "by": {unit}, "from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}}
	names := []string{"feature1", "feature2"}
	key := []any{"siteid", c["siteid"], "month_interval_start", month(w.t, c["month_interval_start"])}
	var one []string
	for _, feature := range names {
		key = append(key, feature, c[feature])
		if c[feature] != "" {
			q.Set(feature, c[feature])
			one = append(one, feature)
		}
	}
	site := "/v1/stats/sites/" + url.PathEscape(c["siteid"])
	w.rows(site+"/series", q, "cardinality.counts", metric, append(key, "metric_type", c["metric_type"], "interval_start", "start")...)
	listing := url.Values{"month": {c["month_interval_start"][:7]}}
	switch len(one) {
	case 0:
		w.lists("/v1/stats/sites", listing, "siteId", c["siteid"])
	case 1:
		w.lists(site+"/values/"+one[0], listing, "value", c[one[0]])
		if unit == "month" {
			w.top(site+"/top/"+one[0], url.Values{"metric": {metric}, "period": {c["month_interval_start"][:7]}}, key, slices.Index(key, any(one[0]))+1)
		}
	}
}

func month(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// top notes the cells of a ranking, which must be in order. key and place say which cell of Counts a row is.
func (w *walk) top(path string, q url.Values, key []any, place int) {
	metric := q.Get("metric")
	w.ask(path, q, func(a answer) {
		last := int64(1 << 62)
		for _, row := range a.rows() {
			n := w.number(row[metric])
			if n > last {
				w.t.Errorf("%s: %d after %d", path, n, last)
			}
			last = n
			of := slices.Clone(key)
			of[place] = row["value"]
			w.note(oracle.Name("cardinality.counts", append(of, "metric_type", "month_"+metric, "interval_start", key[3])...), n)
		}
	})
}

// note is one number that the reader told. It must tell the same wherever it tells it.
func (w *walk) note(cell string, value int64) {
	if before, told := w.got[cell]; told && before != value {
		w.t.Errorf("%s: %d, and %d", cell, before, value)
	}
	w.got[cell] = value
}

// rows asks for a list and notes each row as a cell. The last of columns names the row's own column.
func (w *walk) rows(path string, q url.Values, table, number string, columns ...any) {
	own := columns[len(columns)-1].(string)
	w.ask(path+"#"+number, q, func(a answer) {
		for _, row := range a.rows() {
			value := row[own]
			if own == "start" {
				value = month(w.t, row[own].(string))
			}
			cell := oracle.Name(table, append(columns[:len(columns)-1:len(columns)-1], value)...)
			w.note(cell, w.number(row[number]))
		}
	})
}

func (w *walk) number(v any) int64 {
	n, err := v.(json.Number).Int64()
	if err != nil {
		w.t.Error(err)
	}
	return n
}

// lists fails the test unless a list has a name. It may have others: those of a week that begins in the month.
func (w *walk) lists(path string, q url.Values, own, name string) {
	list := path + "?" + q.Encode()
	w.ask(path, q, func(a answer) {
		for _, row := range a.rows() {
			w.listed[list+" "+row[own].(string)] = true
		}
	})
	if !w.listed[list+" "+name] {
		w.t.Errorf("%s does not list %q", list, name)
	}
}

// answer is what the reader says, with numbers as they are written.
type answer map[string]any

// rows are those of the list that an answer has.
func (a answer) rows() (rows []map[string]any) {
	for _, value := range a {
		list, _ := value.([]any)
		for _, row := range list {
			rows = append(rows, row.(map[string]any))
		}
	}
	return rows
}

// ask asks a question once. What is behind a # is not sent: it tells apart what is wanted of the same answer.
func (w *walk) ask(path string, q url.Values, note func(answer)) {
	w.t.Helper()
	key := path + "?" + q.Encode()
	if w.asked[key] {
		return
	}
	w.asked[key] = true
	path, _, _ = strings.Cut(path, "#")
	response, err := http.Get(w.reader + path + "?" + q.Encode())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s?%s: %s %s, %v", path, q.Encode(), response.Status, text, err)
	}
	var a answer
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&a); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	note(a)
}
