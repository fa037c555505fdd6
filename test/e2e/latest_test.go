package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
)

// latestClicks checks the latest clicks of a link and a day: each click once, however often it was sent, newest first. Clicks of long ago
// are not kept. counted has what the deployment counted before.
func latestClicks(t *testing.T, d deployment, counted *oracle.Oracle) {
	t.Helper()
	const n = 300
	now := time.Now().UTC()
	var events []load.Event
	want := map[string][]string{} // by day, oldest first
	for i := range n {
		at := now.Add(time.Duration(i-n) * 11 * time.Minute) // more than two days in all
		c := &models.Click{ID: fmt.Sprintf("latest-%d", i), ShortURL: "latest", IP: fmt.Sprintf("10.0.0.%d", i%200), TS: models.Millis(at.UnixMilli()), Bot: i%9 == 0}
		events = append(events, load.Event{Click: c})
		day := at.Format(time.DateOnly)
		want[day] = append(want[day], c.ID)
	}
	old := &models.Click{ID: "old", ShortURL: "latest", IP: "10.0.0.1", TS: models.Millis(now.AddDate(0, 0, -8).UnixMilli())}
	events = append(events, load.Event{Click: old})
	want[now.AddDate(0, 0, -8).Format(time.DateOnly)] = nil
	send(t, d, events, load.Order(9, len(events)), nil)
	for _, e := range events {
		e.Tell(counted)
	}
	d.settle(t, counted)

	var days, queries []string
	for day := range want {
		days = append(days, day)
		queries = append(queries, "SELECT id FROM urlshortener.latestclicks WHERE short_url = 'latest' AND day = '"+day+"'")
	}
	for i, rows := range d.ask(t, queries) {
		slices.Reverse(want[days[i]])
		if got := slices.Concat(rows...); !slices.Equal(got, want[days[i]]) {
			t.Errorf("%s: got %s\nwant %s", days[i], strings.Join(got, " "), strings.Join(want[days[i]], " "))
		}
	}
}
