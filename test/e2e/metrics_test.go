package e2e

import (
	"fmt"
	"testing"

	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

// The metrics of a single consumer agree with the log and the oracle.
func TestMetricsAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	d := newReal(t, 0)
	c := d.addConsumer(t)
	const n = 3000
	want, result := send(t, d, load.Make(6, n), load.Order(6, n), nil)
	d.settle(t, want)

	ends, err := d.Ends(t.Context(), d.Topics...)
	if err != nil {
		t.Fatal(err)
	}
	inLog := map[string]int64{}
	for p, end := range ends {
		inLog[p.Topic] += end
	}
	if got := inLog[d.Topics[0]] + inLog[d.Topics[1]]; got != result.Requests && result.Busy == 0 {
		t.Errorf("%d events in the log, %d were accepted", got, result.Requests)
	}
	got, err := process.Metrics(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	for topic, counted := range map[string]int64{d.Topics[0]: want.Clicks, d.Topics[1]: want.Visits} {
		for outcome, want := range map[string]int64{
			"read": inLog[topic], "applied": counted, "duplicate": inLog[topic] - counted, "invalid": 0,
		} {
			name := fmt.Sprintf(`footfall_events_total{outcome=%q,topic=%q}`, outcome, topic)
			if int64(got[name]) != want {
				t.Errorf("%s is %v, want %d", name, got[name], want)
			}
		}
		if name := fmt.Sprintf(`footfall_event_age_seconds_count{topic=%q}`, topic); int64(got[name]) != inLog[topic] {
			t.Errorf("%s is %v, want %d: every event has an age, whatever became of it", name, got[name], inLog[topic])
		}
		if inLog[topic] == counted {
			t.Errorf("no duplicate reached %s: nothing was tested", topic)
		}
	}
}
