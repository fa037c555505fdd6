package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/models"
)

func TestVisitsFile(t *testing.T) {
	f := func(site, text, want string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "visits.csv")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		file, err := openVisits(name, site, models.DefaultPlan())
		if err == nil {
			err = file.Read(func(v *models.Visit) error {
				got = append(got, fmt.Sprintf("%s %s %s %d %q", v.ID, v.SiteID, v.GUID, v.TS, v.Features))
				return nil
			})
			if file.Name != "visits.csv" || file.Lines != int64(len(got)) || file.Sum != fmt.Sprintf("%x", sha256.Sum256([]byte(text))) {
				t.Errorf("%s has %d lines and SHA-256 %s, read %d", file.Name, file.Lines, file.Sum, len(got))
			}
		}
		all := strings.Join(got, "; ")
		if err != nil {
			all = err.Error()
		}
		if !strings.Contains(all, want) {
			t.Errorf("%q: %q, want %q", text, all, want)
		}
	}
	f("site1", "guid,timestamp,feature1,feature2\n\"a\",\"1522802128\",\"fb\",\"/\"\nb,1522802129,,\n",
		`line-0 site1 a 1522802128000 ["fb" "/"]; line-1 site1 b 1522802129000 ["" ""]`)
	f("", "feature2,siteId,ts,guid\n/x,s,1522802128001,a\n", `line-0 s a 1522802128001 ["" "/x"]`)
	f("s", "\uFEFFguid,timestamp\na,1522802128\n", "line-0 s a 1522802128000")
	f("s", "\uFEFF\"guid\",timestamp\na,1522802128\n", "line-0 s a 1522802128000")
	f("", "", "the first line has to name the columns")
	f("", "guid,timestamp\n", "--site")
	f("s", "guid,siteId,timestamp\n", "leave out --site")
	f("s", "timestamp\n", "no column guid")
	f("s", "guid\n", "timestamp, in seconds, or ts")
	f("s", "guid,ts,timestamp\n", "timestamp, in seconds, or ts")
	f("s", "guid,ts,ts\n", "twice")
	f("s", "guid,ts,colour\n", `"colour" is none of`)
	f("s", "guid,timestamp\na,1522802128\n,1522802128\n", "line 3: missing_guid")
	f("s", "guid,timestamp\na,yesterday\n", `line 2: "yesterday" is no time`)
	f("s", "guid,timestamp\na,1522802128000\n", "line 2: bad_timestamp")
	f("s", "guid,timestamp\na,1000000\n", `line 2: "1000000" is before March 1973`)
	f("s", "guid,ts\na,1522802128\n", "are these seconds instead of milliseconds?")
	f("s", "guid,timestamp\n\"a", `extraneous or missing "`)
	f("s", "guid,timestamp\na,1,2\n", "wrong number of fields")
	if _, err := openVisits("no-such-file.csv", "s", models.DefaultPlan()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
