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

// An operator retires October while events of October and November come in. All counts stay. Visitors' rows of intervals before November
// go, others stay. Events that come too late become dead letters and change no count.
func retire(t *testing.T, d *real, want *oracle.Oracle) {
	// Somebody changed counters by hand. A wrong counter of a link does not stop retire; a count below the number of visitors' rows does.
	const october = " WHERE siteId = 'site1' AND month_interval_start = '2018-10-01Z' AND feature1 = '' AND feature2 = ''" +
		" AND metric_type = 'month_unique' AND interval_start = '2018-10-01Z'"
	d.exec(t, "UPDATE urlshortener%[1]s.clickcounter SET value = value + 1 WHERE short_url = 'abc'")
	d.exec(t, "UPDATE cardinality%[1]s.Counts SET visits = visits - 1000000"+october)
	meanwhile := load.Make(42, 1500)
	again := make(chan struct{})
	sent := sendBehind(t, &load.Client{URL: d.producerURL(), Connections: 8, Pace: func(place int) {
		if place >= len(meanwhile)/2 { // the second half is sent during the second attempt, which takes about as long
			select {
			case <-again:
			case <-t.Context().Done():
			}
		}
		time.Sleep(80 * time.Millisecond)
	}}, meanwhile, load.Order(42, len(meanwhile)))
	printed, err := d.command(t, "retire", "--before", "2018-11")
	if err == nil || !strings.Contains(printed, "1 counts are lower than the visitors that have rows, so nothing is removed") {
		t.Fatalf("retire beside a wrong count: %v\n%s", err, printed)
	}
	d.exec(t, "UPDATE cardinality%[1]s.Counts SET visits = visits + 1000000"+october)
	if missing := oracle.Diff(guids(want.Cells()), guids(d.dump(t).Cells)); strings.Contains(fmt.Sprint(missing), ": missing") {
		t.Fatalf("retire removed rows although a count was wrong: %s", missing[0])
	}
	close(again)
	printed, err = d.command(t, "retire", "--before", "2018-11")
	if err != nil || !strings.Contains(printed, "the audit of") || strings.Contains(printed, "links") || // it does not compare the sums of links
		!strings.Contains(printed, "normal after consumer forget; 0 are lower") || strings.Contains(printed, "announced") {
		t.Fatalf("retire: %v\n%s", err, printed)
	}
	d.exec(t, "UPDATE urlshortener%[1]s.clickcounter SET value = value - 1 WHERE short_url = 'abc'")
	t.Log(last(printed))
	sent()
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
		t.Errorf("%d visits became dead letters", len(refused))
	}
	tooLate := 0
	for _, e := range meanwhile {
		if !refused[e.ID()] {
			e.Tell(want)
		} else {
			tooLate++
		}
	}
	t.Logf("%d of %d events that came meanwhile became dead letters", tooLate, len(meanwhile))
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

// guids are the rows of sites' visitors.
func guids(cells oracle.Cells) oracle.Cells {
	out := maps.Clone(cells)
	maps.DeleteFunc(out, func(name string, _ int64) bool { return !strings.HasPrefix(name, "cardinality.guiddata") })
	return out
}

// closed reports whether the cell is a visitor's row of an interval that ended before November.
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

// command runs a subcommand of the consumer to its end.
func (d *real) command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	begun := time.Now()
	defer func() { t.Logf("%s took %v", args[0], time.Since(begun).Round(100*time.Millisecond)) }()
	return process.Run(patiently(t), process.Command{
		Name: args[0] + unique(), Path: binaries.Path(t, "consumer"), Args: args, Env: d.env, Dir: d.dir,
	})
}
