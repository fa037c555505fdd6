package exporttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/stats"
	"footfall/simulator/mock"
	"footfall/simulator/tables"
)

// Truth exports all that the simulator has sent, month by month and in every format, and compares it with what the simulator says that
// the tables hold: cell by cell and both ways. The tables must hold nothing else.
func Truth(t testing.TB, r *stats.Reader, p mock.Plan) {
	t.Helper()
	want := tables.Cells{}
	want.AddClicks(r.Plan().Metrics(), mock.MakeClicks(p))
	want.AddVisits(p.Site, r.Plan().Metrics(), mock.MakeVisits(p))
	maps.DeleteFunc(want, func(name string, _ int64) bool { return !exported(name) })
	for _, format := range export.Formats {
		got := tables.Cells{}
		for month := time.Date(p.From.Year(), p.From.Month(), 1, 0, 0, 0, 0, time.UTC); month.Before(p.To); month = month.AddDate(0, 1, 0) {
			at := models.Millis(month.UnixMilli())
			for _, row := range Rows(t, r, export.What{Site: p.Site, Month: at}, format) {
				put(t, got, row["count"], "Counts", siteKey(t, r.Plan(), row)...)
			}
			for _, link := range p.Links {
				rows := Rows(t, r, export.What{Link: link, Month: at}, format)
				for _, row := range rows {
					if row["by"] != "" {
						put(t, got, row["count"], "monthcounters", row["short_url"], row["by"], start(t, row), row["label"])
						continue
					}
					table := map[string]string{"clicks hour": "hourcounters", "clicks day": "daycounters",
						"amount_num day": "amountcounters.num_values", "amount_sum day": "amountcounters.sum_values"}[row["metric"]+" "+row["unit"]]
					put(t, got, row["count"], table, row["short_url"], start(t, row))
				}
				hoursAreDays(t, rows, func(r Row) string { return r["metric"] + " " + r["unit"] + r["by"] }, "clicks hour", "clicks day")
			}
		}
		different := tables.Diff(want, got)
		for _, line := range different[:min(len(different), 20)] {
			t.Errorf("%s: %s", format, line)
		}
		t.Logf("%s: %d cells compared, %d differ", format, len(want), len(different))
	}
	if len(want) < 100 {
		t.Errorf("%d cells only: nothing to compare", len(want))
	}
}

// exported tells whether a cell of the simulator is in an export.
func exported(cell string) bool {
	for _, table := range []string{"Counts(", "hourcounters(", "daycounters(", "monthcounters(", "amountcounters."} {
		if strings.HasPrefix(cell, table) {
			return true
		}
	}
	return false
}

// Rows exports twice, compares both with each other and with their manifests, and reads the rows.
func Rows(t testing.TB, r *stats.Reader, what export.What, format export.Format) []Row {
	t.Helper()
	var files [2]bytes.Buffer
	var manifests [2]export.Manifest
	for i := range files {
		e, err := export.Begin(t.Context(), r, what, format, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if manifests[i], err = e.Write(t.Context(), &files[i]); err != nil {
			t.Fatal(err)
		}
	}
	rows, m := Read(t, format, files[0].Bytes()), manifests[0]
	sum := sha256.Sum256(files[0].Bytes())
	if m.SHA256 != hex.EncodeToString(sum[:]) || m.SHA256 != manifests[1].SHA256 || m.Bytes != int64(files[0].Len()) || m.Rows != int64(len(rows)) {
		t.Errorf("%+v: %d rows, %d bytes, %x; the manifest has %+v, that of the second export %+v", what, len(rows), files[0].Len(), sum, m, manifests[1])
	}
	for _, c := range m.Combinations {
		if !c.Included {
			t.Errorf("%+v: %+v is left out", what, c)
		}
	}
	hoursAreDays(t, rows, func(r Row) string { return r["metric"] }, models.HourViews, models.DayViews)
	return rows
}

// hoursAreDays: what the hours of a day have adds up to what the day has.
func hoursAreDays(t testing.TB, rows []Row, metric func(Row) string, hours, days string) {
	t.Helper()
	sums, want := map[string]int64{}, map[string]int64{}
	for _, row := range rows {
		n, err := strconv.ParseInt(row["count"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		of := maps.Clone(row)
		for _, name := range []string{"metric", "unit", "count", "start"} {
			delete(of, name)
		}
		key := row["start"][:len("2006-01-02")]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			key += "\x00" + name + "\x00" + of[name]
		}
		switch metric(row) {
		case hours:
			sums[key] += n
		case days:
			want[key] += n
		}
	}
	if len(sums) > 0 && len(want) > 0 && !maps.Equal(sums, want) {
		t.Errorf("%s add up to %v, %s are %v", hours, sums, days, want)
	}
}

func siteKey(t testing.TB, plan *models.Plan, row Row) []any {
	t.Helper()
	month, err := time.Parse(models.Monthly, row["month"])
	if err != nil {
		t.Fatal(err)
	}
	key := []any{row["siteId"], month}
	for _, feature := range plan.Features() {
		if slices.Contains([]string{"month", "metric", "start", "count"}, feature) { // other columns are called so
			feature = "feature." + feature
		}
		key = append(key, row[feature])
	}
	return append(key, row["metric"], start(t, row))
}

func start(t testing.TB, row Row) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, row["start"])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// put is for a row that must not be told twice.
func put(t testing.TB, into tables.Cells, count, table string, key ...any) {
	t.Helper()
	name := tables.Name(table, key...)
	n, err := strconv.ParseInt(count, 10, 64)
	if _, twice := into[name]; twice || err != nil || table == "" {
		t.Errorf("%s twice, or no number: %s", name, count)
	}
	into[name] = n
}
