package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/export/exporttest"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

const october models.Millis = 1538352000000 // 2018-10-01

// exportOf writes an export.
func exportOf(t *testing.T, from export.Source, what export.What, format export.Format) (string, export.Manifest) {
	t.Helper()
	e, err := export.Begin(t.Context(), from, what, format, func() {})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	m, err := e.Write(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), m
}

func visit(site, guid string, at models.Millis, features ...string) *models.Visit {
	return &models.Visit{SiteID: site, GUID: guid, Features: features, TS: at}
}

func TestRowsOfASite(t *testing.T) {
	store := statstest.NewMemory(models.DefaultPlan())
	store.Add(visit("shop", "g", october+30*86_400_000, "=1+1", ""), visit("shop", "g", october+31*86_400_000, "", "/a"), visit("other", "g", october, "", ""))
	got, m := exportOf(t, stats.New(store, "clicks", "visits"), export.What{Site: "shop", Month: october + 5}, export.CSV)
	if want := `siteId,month,feature1,feature2,metric,start,count
shop,2018-10,,,month_unique,2018-10-01T00:00:00Z,1
shop,2018-10,,,week_unique,2018-10-29T00:00:00Z,1
shop,2018-10,,,day_unique,2018-10-31T00:00:00Z,1
shop,2018-10,,,month_views,2018-10-01T00:00:00Z,1
shop,2018-10,,,day_views,2018-10-31T00:00:00Z,1
shop,2018-10,,,hour_views,2018-10-31T00:00:00Z,1
shop,2018-10,"'=1+1",,month_unique,2018-10-01T00:00:00Z,1
shop,2018-10,"'=1+1",,week_unique,2018-10-29T00:00:00Z,1
shop,2018-10,"'=1+1",,day_unique,2018-10-31T00:00:00Z,1
shop,2018-10,"'=1+1",,month_views,2018-10-01T00:00:00Z,1
shop,2018-10,"'=1+1",,day_views,2018-10-31T00:00:00Z,1
shop,2018-10,"'=1+1",,hour_views,2018-10-31T00:00:00Z,1
shop,2018-10,,/a,week_unique,2018-10-29T00:00:00Z,1
`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if m.Site != "shop" || m.Link != "" || m.Month != "2018-10" || m.Rows != 13 || m.Final || len(m.Columns) != 7 || !strings.HasPrefix(m.Reader, "footfall reader ") {
		t.Errorf("%+v", m)
	}
}

func TestAMonthIsFinalWhenItsLastWeekIs(t *testing.T) {
	store := statstest.NewMemory(models.DefaultPlan())
	f := func(before models.Millis, want bool) {
		t.Helper()
		store.Retire(nil, before, true)
		if _, m := exportOf(t, stats.New(store, "clicks", "visits"), export.What{Site: "shop", Month: october}, export.CSV); m.Final != want {
			t.Errorf("retired before %v: final %v", before.Time(), m.Final)
		}
	}
	f(stats.Month.End(october), false)
	f(stats.Month.End(october)+3*86_400_000, false)
	f(stats.Month.End(october)+4*86_400_000, true) // its last week ends on Sunday, November 4
}

// TestCombinationsAreReadWhereTheyAreFew, and the manifest says which are not.
func TestCombinationsAreReadWhereTheyAreFew(t *testing.T) {
	plan, err := models.NewPlan([]string{"a", "b", "c"}, []string{models.DayUnique})
	if err != nil {
		t.Fatal(err)
	}
	store := statstest.NewMemory(plan)
	list := func(feature string, n int) {
		for i := range n {
			store.List(nil, models.Name{List: models.ValuesByMonth, Site: "s", Start: october, Feature: feature, Value: feature + strings.Repeat("x", i)})
		}
	}
	list("a", 100)
	list("b", 99)
	list("c", 2)
	store.Add(&models.Visit{SiteID: "s", GUID: "g", Features: []string{"a", "b", "c"}, TS: october, Plan: plan})
	text, m := exportOf(t, stats.New(store, "clicks", "visits"), export.What{Site: "s", Month: october}, export.CSV)
	want := []stats.Combination{
		{Features: []string{"a", "b"}, Keys: 9900, Included: true}, {Features: []string{"a", "c"}, Keys: 200}, {Features: []string{"b", "c"}, Keys: 198},
		{Features: []string{"a", "b", "c"}, Keys: 19_800},
	}
	if !reflect.DeepEqual(m.Combinations, want) || !strings.Contains(text, "s,2018-10,a,b,,day_unique") || strings.Contains(text, "b,c,day_unique") || m.Rows != 5 {
		t.Errorf("%+v\n%s", m.Combinations, text)
	}
}

// TestEveryNameIsItself in every format; CSV has a ' before what a spreadsheet would run, and encoding/csv reads \r\n as \n.
func TestEveryNameIsItself(t *testing.T) {
	store := statstest.NewMemory(models.DefaultPlan())
	names := slices.DeleteFunc(statstest.Hostile(), func(name string) bool { return strings.Contains(name, "\x00") }) // no event has such a name
	for _, name := range names {
		store.Add(visit(name, "g", october, name, ""), &models.Click{ShortURL: name, IP: "203.0.113.7", TS: october})
	}
	r := stats.New(store, "clicks", "visits")
	for _, asked := range names {
		for _, format := range export.Formats {
			name := asked
			if format == export.CSV {
				name = strings.ReplaceAll(name, "\r\n", "\n")
			}
			rows := exporttest.Rows(t, r, export.What{Site: asked, Month: october}, format)
			if got := rows[len(rows)-1]; len(rows) != 12 || got["siteId"] != name || got["feature1"] != name {
				t.Errorf("%s: %q became %q in %d rows", format, name, got, len(rows))
			}
			if rows := exporttest.Rows(t, r, export.What{Link: asked, Month: october}, format); len(rows) != 2+len(models.DefaultPlan().Breakdowns()) || rows[0]["short_url"] != name {
				t.Errorf("%s: %q became %q", format, name, rows)
			}
		}
	}
}

func TestErrorsEndAnExport(t *testing.T) {
	store := statstest.NewMemory(models.DefaultPlan())
	store.Add(visit("s", "g", october, "", ""))
	r := stats.New(store, "clicks", "visits")
	e, err := export.Begin(t.Context(), r, export.What{Site: "s", Month: october}, export.Parquet, func() {})
	if err != nil {
		t.Fatal(err)
	}
	down := errors.New("a node is down")
	store.Fail(down)
	if _, err := e.Write(t.Context(), &bytes.Buffer{}); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	if _, err := export.Begin(t.Context(), r, export.What{Site: "s", Month: october}, export.CSV, func() {}); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	store.Fail(nil)
	malformed := (*stats.Malformed)(nil)
	if _, err := export.Begin(t.Context(), r, export.What{Site: strings.Repeat("s", 129), Month: october}, export.CSV, func() {}); !errors.As(err, &malformed) {
		t.Errorf("%v", err)
	}
}

// TestTheManifestIsJSON that shows what it has, also of a name that would hide it.
func TestTheManifestIsJSON(t *testing.T) {
	m := export.Manifest{Site: "a\u202eb<", Month: "2018-10"}
	var back export.Manifest
	if text := m.JSON(); strings.ContainsAny(string(text), "\u202e<") || json.Unmarshal([]byte(strings.Replace(string(text), `"as_of": {`, `"as_of_": {`, 1)), &back) != nil || back.Site != m.Site {
		t.Errorf("%s", text)
	}
}
