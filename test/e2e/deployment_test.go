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

// deployment is footfall as an operator runs it: one process, or a producer, consumers, Kafka and Cassandra.
type deployment interface {
	// producerURL is where events are sent to.
	producerURL() string
	// kept is which features and metrics of visits it keeps.
	kept() kept
	// settle waits until every event that was accepted is counted.
	settle(t *testing.T, o *oracle.Oracle)
	// dump reads all tables.
	dump(t *testing.T) *dump.Dump
	// clicks reads the clickcounter of a link, 0 if it has none.
	clicks(t *testing.T, link string) int64
	// ask runs queries in the analysts' shell and returns the rows of each, with times in the oracle's form.
	ask(t *testing.T, queries []string) [][][]string
}

// kept is what is kept: features by name, and metrics; no metrics: those of a deployment without configuration, which are all.
type kept struct{ features, metrics []string }

// byDefault is what a deployment keeps without configuration.
var byDefault = kept{features: []string{"feature1", "feature2"}}

// fourFeatures has more features than the default, with other names.
var fourFeatures = kept{[]string{"referrer", "page", "device", "feature1"}, byDefault.metrics}

func (k kept) oracle() *oracle.Oracle {
	o := oracle.New(k.features...)
	if k.metrics != nil {
		o.Keep(k.metrics...)
	}
	return o
}

// env is the configuration for it.
func (k kept) env() []string {
	env := []string{"FOOTFALL_FEATURES=" + strings.Join(k.features, ",")}
	if k.metrics != nil {
		env = append(env, "FOOTFALL_METRICS="+strings.Join(k.metrics, ","))
	}
	return env
}

// onEach runs a test on embedded and on the real servers.
func onEach(t *testing.T, test func(t *testing.T, d deployment)) {
	t.Run("embedded", func(t *testing.T) { test(t, newEmbedded(t)) })
	t.Run("real", func(t *testing.T) { test(t, newReal(t, 1)) })
}

// send sends events in the order given and returns what the oracle counts. Every event must be accepted.
func send(t *testing.T, d deployment, events []load.Event, order []int, pace func(place int)) (*oracle.Oracle, *load.Result) {
	t.Helper()
	result, err := (&load.Client{URL: d.producerURL(), Pace: pace}).Send(t.Context(), events, order)
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

// sendBehind sends events in the background. wait waits until all are answered, or the client is stopped; an error fails the test.
func sendBehind(t *testing.T, c *load.Client, events []load.Event, order []int) (wait func() *load.Result) {
	t.Helper()
	var result *load.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = c.Send(t.Context(), events, order)
	}()
	return func() *load.Result {
		t.Helper()
		<-done
		if err != nil {
			t.Fatalf("sending in the background: %v", err)
		}
		return result
	}
}

// equal fails the test unless the tables hold exactly the cells in want. It shows the first differences.
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
