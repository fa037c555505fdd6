package dump

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestEntriesAreRowsOfGuidData(t *testing.T) {
	f := func(month string, seen []string, want ...string) {
		t.Helper()
		at, err := time.Parse("2006-01-02", month)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := entry{month: at, seen: seen}.rows(2)
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprintf("%s %s %q", row[1], row[2].(time.Time).Format("2006-01-02"), row[5:]))
		}
		if err != nil {
			got = append(got, "error")
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q of %s: %q, %v; want %q", seen, month, got, err, want)
		}
	}
	f("2018-10-01", []string{"2018-10-31", "month:4 day:f", "fb", "/"},
		`month 2018-10-01 ["" "/"]`, `day 2018-10-31 ["" ""]`, `day 2018-10-31 ["fb" ""]`, `day 2018-10-31 ["" "/"]`, `day 2018-10-31 ["fb" "/"]`)
	f("2018-11-01", []string{"2018-10-31", "week:1", "fb", "/"}, `week 2018-10-29 ["" ""]`)
	f("2018-10-01", []string{"2018-10-28", "week:3", "fb", ""}, `week 2018-10-22 ["" ""]`, `week 2018-10-22 ["fb" ""]`)
	for _, seen := range [][]string{
		nil, {"2018-10-31", "month:1", "fb"}, {"2018-10-31", "week:1", "fb", "/"}, {"2018-11-01", "day:1", "fb", "/"}, {"2018-10-31", "year:1", "fb", "/"},
		{"2018-10-31", "", "fb", "/"}, {"2018-10-31", "day:", "fb", "/"}, {"yesterday", "day:1", "fb", "/"},
	} {
		f("2018-10-01", seen, "error")
	}
	for _, ways := range []string{"day:10", "day:1 day:1", "day:8000000000000001"} {
		rows, err := entry{month: time.Date(2018, 10, 1, 0, 0, 0, 0, time.UTC), seen: []string{"2018-10-31", ways, "fb", "/"}}.rows(2)
		if err == nil {
			t.Errorf("%s: %v", ways, rows)
		}
	}
	if rows, err := (entry{month: time.Date(2018, 10, 1, 0, 0, 0, 0, time.UTC), seen: []string{"2018-10-31", "day:2", "", "/"}}).rows(2); err == nil {
		t.Errorf("an empty feature is kept: %v", rows)
	}
}
