package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
)

// An operator retires October while events of October and November come in. Counts stay, to the last cell; rows of intervals
// that are over go, others stay; what comes too late is put aside and changes nothing.
func retire(t *testing.T, d *real, want *oracle.Oracle) {
	// Somebody touched counters by hand. A link's stops nothing; one that is lower than the visitors' rows does.
	const october = " WHERE siteId = 'site1' AND month_interval_start = '2018-10-01Z' AND feature1 = '' AND feature2 = ''" +
		" AND metric_type = 'month_unique' AND interval_start = '2018-10-01Z'"
	d.exec(t, "UPDATE urlshortener%[1]s.clickcounter SET value = value + 1 WHERE short_url = 'abc'")
	d.exec(t, "UPDATE cardinality%[1]s.Counts SET visits = visits - 1000000"+october)
	meanwhile := load.Make(42, 1500)
	sent, again := make(chan *oracle.Oracle, 1), make(chan struct{})
	go func() {
		defer close(sent)
		client := &load.Client{URL: d.door(), Connections: 8, Pace: func(place int) {
			if place >= len(meanwhile)/2 { // while the second attempt goes on, which takes about as long
				select {
				case <-again:
				case <-t.Context().Done():
				}
			}
			time.Sleep(80 * time.Millisecond)
		}}
		result, err := client.Send(t.Context(), meanwhile, load.Order(42, len(meanwhile)))
		if err != nil {
			t.Errorf("sending meanwhile: %v", err)
			return
		}
		sent <- result.Oracle(meanwhile)
	}()
	printed, err := d.command(t, "retire", "--before", "2018-11")
	if err == nil || !strings.Contains(printed, "1 counts are lower than the visitors that have rows, so nothing is removed") {
		t.Fatalf("retire with something off: %v\n%s", err, printed)
	}
	d.exec(t, "UPDATE cardinality%[1]s.Counts SET visits = visits + 1000000"+october)
	if missing := oracle.Diff(guids(want.Cells()), guids(d.dump(t).Cells)); strings.Contains(fmt.Sprint(missing), ": missing") {
		t.Fatalf("retire removed rows though something was off: %s", missing[0])
	}
	close(again)
	printed, err = d.command(t, "retire", "--before", "2018-11")
	if err != nil || !strings.Contains(printed, "the audit of") || strings.Contains(printed, "links") || // whose sums it does not ask for
		!strings.Contains(printed, "as forget leaves them, 0 lower") || strings.Contains(printed, "announced") {
		t.Fatalf("retire: %v\n%s", err, printed)
	}
	d.exec(t, "UPDATE urlshortener%[1]s.clickcounter SET value = value - 1 WHERE short_url = 'abc'")
	t.Log(last(printed))
	if <-sent == nil {
		t.FailNow()
	}
	late := &models.Visit{V: 1, ID: "late", SiteID: "site1", GUID: "late", TS: 1540000000000, Features: []string{"", ""}}
	send(t, d, []load.Event{{Visit: late, Names: models.DefaultFeatures()}}, []int{0}, nil)
	d.settle(t, nil)

	dead, err := d.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]bool{}
	for origin, m := range dead {
		if broker.Header(m, "reason") != "interval_retired" || !strings.Contains(broker.Header(m, "detail"), "2018-11-01") {
			t.Errorf("dead letter from %s: %v", origin, m.Headers)
		}
		v, err := models.DefaultPlan().UnmarshalVisit(m.Value, true)
		if err != nil || v.TS >= 1541030400000 || string(m.Key) != v.KafkaKey() {
			t.Fatalf("dead letter from %s: %s: %v", origin, m.Value, err)
		}
		refused[v.ID] = true
	}
	if len(refused) < 20 || !refused["late"] {
		t.Errorf("%d visits were refused", len(refused))
	}
	tooLate := 0
	for _, e := range meanwhile {
		if !refused[e.ID()] {
			e.Tell(want)
		} else {
			tooLate++
		}
	}
	t.Logf("%d of %d events that came meanwhile were refused", tooLate, len(meanwhile))
	cells := maps.Clone(want.Cells())
	gone := 0
	maps.DeleteFunc(cells, func(name string, _ int64) bool {
		if closed(t, name) {
			gone++
			return true
		}
		return false
	})
	if gone < 1000 {
		t.Errorf("only %d rows are of October", gone)
	}
	equal(t, cells, d.dump(t))
}

// guids are the rows that remember visitors of sites.
func guids(cells oracle.Cells) oracle.Cells {
	out := maps.Clone(cells)
	maps.DeleteFunc(out, func(name string, _ int64) bool { return !strings.HasPrefix(name, "cardinality.guiddata") })
	return out
}

// closed tells whether the cell is a visitor's row of an interval that was over on the first of November.
func closed(t *testing.T, name string) bool {
	t.Helper()
	if !strings.HasPrefix(name, "cardinality.guiddata|") {
		return false
	}
	_, rest, _ := strings.Cut(name, "|interval_start=")
	start, err := time.Parse(time.RFC3339Nano, rest[:strings.Index(rest, "|")])
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case strings.Contains(name, `|interval_size="week"|`):
		start = start.AddDate(0, 0, 7)
	case strings.Contains(name, `|interval_size="day"|`):
		start = start.AddDate(0, 0, 1)
	default:
		start = start.AddDate(0, 1, 0)
	}
	return !start.After(time.Date(2018, 11, 1, 0, 0, 0, 0, time.UTC))
}

// command runs a command of the consumer to its end.
func (d *real) command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	begun := time.Now()
	defer func() { t.Logf("%s took %v", args[0], time.Since(begun).Round(100*time.Millisecond)) }()
	return process.Run(patiently(t), process.Command{
		Name: args[0] + unique(), Path: binaries.Path(t, "consumer"), Args: args, Env: d.env, Dir: d.dir,
	})
}
