package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/dump"
	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
)

// deployment is footfall as somebody runs it: one process, or a door, consumers, Kafka and Cassandra.
type deployment interface {
	// door is the URL to send events to.
	door() string
	// kept is what it was told to keep of visits.
	kept() kept
	// settle waits until every event that was accepted is counted.
	settle(t *testing.T, o *oracle.Oracle)
	// dump reads all tables.
	dump(t *testing.T) *dump.Dump
	// clicks reads the clickcounter of a link, 0 if it has none.
	clicks(t *testing.T, link string) int64
	// ask runs queries in the analysts' shell and returns the rows of each, with moments in the oracle's form.
	ask(t *testing.T, queries []string) [][][]string
}

// kept is what is kept of visits: features by name, and metrics.
type kept struct{ features, metrics []string }

// byDefault is what a deployment keeps by itself.
var byDefault = kept{
	[]string{"feature1", "feature2"}, []string{"month_unique", "week_unique", "day_unique", "month_views", "day_views", "hour_views"},
}

// fourFeatures are more than the default, and have other names.
var fourFeatures = kept{[]string{"referrer", "page", "device", "feature1"}, byDefault.metrics}

func (k kept) oracle() *oracle.Oracle { return oracle.New(k.features...).Keep(k.metrics...) }

// env tells a process.
func (k kept) env() []string {
	return []string{"FOOTFALL_FEATURES=" + strings.Join(k.features, ","), "FOOTFALL_METRICS=" + strings.Join(k.metrics, ",")}
}

// onEach runs a test on every deployment.
func onEach(t *testing.T, test func(t *testing.T, d deployment)) {
	t.Run("embedded", func(t *testing.T) { test(t, newEmbedded(t)) })
	t.Run("real", func(t *testing.T) { test(t, newReal(t, 1)) })
}

// send sends events in the order given and returns the oracle's opinion of them. Every one must be accepted.
func send(t *testing.T, d deployment, events []load.Event, order []int, pace func(place int)) (*oracle.Oracle, *load.Result) {
	t.Helper()
	result, err := (&load.Client{URL: d.door(), Pace: pace}).Send(t.Context(), events, order)
	if err != nil {
		t.Fatal(err)
	}
	if refused := slices.Index(result.Accepted, false); refused >= 0 {
		t.Fatalf("event %s was not accepted", events[refused].ID())
	}
	t.Logf("%d events in %d requests, %d more answered 503, took %s: %.0f requests/s", len(events), result.Requests, result.Busy,
		result.Took.Round(time.Millisecond), float64(result.Requests)/result.Took.Seconds())
	o := d.kept().oracle()
	result.Tell(o, events)
	return o, result
}

// equal compares what is in the tables with what must be, and shows the first differences.
func equal(t *testing.T, want oracle.Cells, got *dump.Dump) {
	t.Helper()
	differences := oracle.Diff(want, got.Cells)
	for _, line := range differences[:min(20, len(differences))] {
		t.Error(line)
	}
	if len(differences) > 0 {
		t.Fatalf("%d of %d cells differ", len(differences), len(want))
	}
	t.Logf("%d cells equal", len(want))
}
