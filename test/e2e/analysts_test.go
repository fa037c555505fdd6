package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/test/e2e/load"
)

// promised are the queries that analysts were promised. They run unchanged in the analysts' shells.
const promised = `
SELECT hour, value FROM urlshortener.hourcounters WHERE short_url = 'abc' LIMIT 24;
SELECT day, value FROM urlshortener.daycounters WHERE short_url = 'abc' LIMIT 10;
SELECT country, value FROM urlshortener.countrycounters WHERE short_url = 'abc';
SELECT value FROM urlshortener.uniquecounter WHERE short_url = 'abc';
SELECT ip FROM urlshortener.uniquecounterips WHERE short_url = 'abc';
SELECT visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = 'facebook.com' AND feature2 = '' AND metric_type = 'month_unique' AND interval_start = '2018-10-01';
SELECT interval_start, visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = '' AND feature2 = '' AND metric_type = 'day_unique';     -- the month's histogram
`

// TestAnalystsQueries: every query returns what the oracle computes, and on Cassandra it reads one partition of one table. The latest
// clicks are also checked in full.
func TestAnalystsQueries(t *testing.T) {
	queries := statements(promised)
	catalogue, err := os.ReadFile(filepath.Join("..", "..", "docs", "queries.cql"))
	if err != nil {
		t.Fatal(err)
	}
	queries = append(queries, statements(string(catalogue))...)
	// Latest clicks are kept for some days only, so queries for a day of 2018 ask for yesterday instead.
	yesterday := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
	for i, q := range queries {
		if strings.Contains(q, "urlshortener.latestclicks") {
			queries[i] = strings.ReplaceAll(q, "'2018-10-01", "'"+yesterday.Format(time.DateOnly))
		}
	}
	slices.Sort(queries)
	queries = slices.Compact(queries)

	onEach(t, func(t *testing.T, d deployment) {
		const n, late = 4000, 40
		events := append(load.Make(4, n), clicksOf(yesterday.Add(12*time.Hour), late)...)
		counted, _ := send(t, d, events, load.Order(4, len(events)), nil)
		d.settle(t, counted)
		makeLink(t, d)
		asked := queries
		if _, ok := d.(*embedded); ok { // SQLite has no minTimeuuid, and the catalogue says so
			asked = slices.DeleteFunc(slices.Clone(queries), func(q string) bool { return strings.Contains(q, "minTimeuuid") })
		}
		for i, got := range d.ask(t, asked) {
			q, err := parseQuery(asked[i])
			if err != nil {
				t.Errorf("the oracle cannot read %s: %v", asked[i], err)
				continue
			}
			want := q.answer(counted.Cells())
			if isList(q.table) {
				want = q.pick(listRows(q.table, counted.Cells()))
			}
			switch q.table {
			case "urlshortener.urls":
				want = [][]string{{longURL}}
			case "cardinality.guiddata":
				want, got = q.cameFrom(counted.Cells()), cameFrom(got)
			case "urlshortener.latestclicks":
				want = q.pick(latestRows(events[n:]))
				q.hideMoments(want, got)
			}
			if len(want) == 0 {
				t.Errorf("the load has nothing for %s", asked[i])
			}
			if got = q.rounded(got); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Errorf("%s\ngot  %q\nwant %q", asked[i], got, want)
			}
		}
		if r, ok := d.(*real); ok {
			r.onePartition(t, queries)
		}
		t.Logf("%d queries", len(asked))
		latestClicks(t, d, counted) // here, since Cassandra takes long to make a schema
	})
}

// clicksOf makes n clicks on the link of docs/queries.cql, one every six minutes.
func clicksOf(from time.Time, n int) []load.Event {
	var events []load.Event
	for i := range n {
		events = append(events, load.Event{Click: &models.Click{
			ID: fmt.Sprintf("late-%d", i), ShortURL: "abc", IP: fmt.Sprintf("10.9.0.%d", i), Country: []string{"IT", "DE"}[i%2],
			Referrer: []string{"t.co", ""}[i%2], TS: models.Millis(from.Add(time.Duration(i) * 6 * time.Minute).UnixMilli()), Bot: i%9 == 0,
		}})
	}
	return events
}

// latestRows are the rows of latestclicks for these clicks, with a time in place of the timeuuid.
func latestRows(events []load.Event) []map[string]string {
	var rows []map[string]string
	for _, e := range events {
		c := e.Click
		at := c.TS.Time().UTC()
		rows = append(rows, map[string]string{
			"short_url": c.ShortURL, "day": at.Truncate(24 * time.Hour).Format(time.RFC3339Nano), "at": at.Format(time.RFC3339Nano),
			"country": c.Country, "referrer": c.Referrer, "ip": c.IP, "bot": map[bool]string{true: "True", false: "False"}[c.Bot], "id": c.ID,
		})
	}
	return rows
}

// hideMoments empties the column at: its timeuuid contains the click's place in the log, which the oracle does not know.
func (q query) hideMoments(answers ...[][]string) {
	i := slices.Index(q.columns, "at")
	for _, row := range slices.Concat(answers...) {
		if i >= 0 {
			row[i] = ""
		}
	}
}

const longURL = "https://example.org/long"

// makeLink makes the link of docs/queries.cql: over HTTP, or in the table where the producer makes no links.
func makeLink(t *testing.T, d deployment) {
	t.Helper()
	if r, ok := d.(*real); ok {
		query := "INSERT INTO urlshortener" + r.suffix + ".urls (short_url, long_url) VALUES ('abc', '" + longURL + "')"
		if err := r.session.Query(query).WithContext(t.Context()).Exec(); err != nil {
			t.Fatal(err)
		}
		return
	}
	response, err := http.Post(d.producerURL()+"/v1/links", "application/json", strings.NewReader(`{"short_url":"abc","long_url":"`+longURL+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("making a link: %s", response.Status)
	}
}

// statements splits a file of queries. No literal in it may contain a semicolon or two dashes.
func statements(text string) []string {
	var bare strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		bare.WriteString(" " + strings.TrimSpace(code))
	}
	var out []string
	for _, s := range strings.Split(bare.String(), ";") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
