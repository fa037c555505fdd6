package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"footfall/deployments/e2e/load"
)

// What a consumer tells about itself must be true: with one replica, its numbers are those of the log and the oracle.
func TestMetricsAgreeWithTheOracle(t *testing.T) {
	d := newReal(t, 0)
	c := d.addConsumer(t)
	const n = 3000
	want, result := send(t, d, load.Make(6, n), load.Order(6, n), nil)
	d.settle(t, want)

	ends, err := d.ends(t.Context(), d.topics...)
	if err != nil {
		t.Fatal(err)
	}
	inLog := map[string]int64{}
	for p, end := range ends {
		inLog[p.topic] += end
	}
	if got := inLog[d.topics[0]] + inLog[d.topics[1]]; got != result.Requests && result.Busy == 0 {
		t.Errorf("%d events in the log, %d were accepted", got, result.Requests)
	}
	got := scrape(t, c.url+"/metrics")
	for topic, counted := range map[string]int64{d.topics[0]: want.Clicks, d.topics[1]: want.Visits} {
		for outcome, want := range map[string]int64{
			"read": inLog[topic], "applied": counted, "duplicate": inLog[topic] - counted, "invalid": 0,
		} {
			name := fmt.Sprintf(`footfall_events_total{outcome=%q,topic=%q}`, outcome, topic)
			if int64(got[name]) != want {
				t.Errorf("%s is %v, want %d", name, got[name], want)
			}
		}
		if inLog[topic] == counted {
			t.Errorf("no duplicate reached %s: nothing was tested", topic)
		}
	}
}

var sample = regexp.MustCompile(`(?m)^([a-z_]+(?:\{.*\})?) ([-+.0-9eE]+)$`)

// scrape reads metrics in Prometheus' text format.
func scrape(t *testing.T, url string) map[string]float64 {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %s", url, resp.Status)
	}
	out := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(string(body), -1) {
		if out[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
			t.Fatalf("%s: %v", m[0], err)
		}
	}
	return out
}
