package export_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// TestAnExportOfListsThatAreNotFilled has the site's own counters, and says that values may be missing.
func TestAnExportOfListsThatAreNotFilled(t *testing.T) {
	store := statstest.NewMemory(models.DefaultPlan())
	store.Add(visit("s", "g", october, "", ""))
	f := func(what export.What, unlisted bool, want string) {
		t.Helper()
		store.Unlist(unlisted)
		e, err := export.Begin(t.Context(), stats.New(store, "clicks", "visits"), what, export.CSV, func() {})
		if err != nil {
			t.Fatal(err)
		}
		store.Unlist(false) // filled while it is read: what it has read is not complete all the same
		m, err := e.Write(t.Context(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := bytes.Cut(m.JSON(), []byte(`"lists": {`))
		got, _, _ := strings.Cut(strings.Join(strings.Fields(string(rest)), " "), "}")
		if got = strings.TrimSpace(got); found != (want != "") || !strings.HasPrefix(got, want) && found {
			t.Errorf("%+v: %q, want %q", what, got, want)
		}
	}
	site := export.What{Site: "s", Month: october}
	f(site, true, `"complete": false, "reason": "values that were counted before there were lists may be missing`)
	f(site, false, `"complete": true`)
	f(export.What{Link: "abc", Month: october}, true, "")
}
