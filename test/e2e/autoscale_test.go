package e2e

import (
	"encoding/csv"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/deployments/helm/autoscale"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

var autoscaleRecord = flag.String("autoscale.record", "", "record consumers that scale under a load step into this `FILE`, as CSV (20 minutes)")

// phase is a rate of events and how long it is held.
type phase struct {
	rate int
	hold time.Duration
}

// TestRecordAutoscaling lets the model of the autoscaler start and stop real consumers, by their own metrics, while the load steps up and down. It
// records what the model saw, for a test of the model, and compares all cells in the end.
//
// Windows, policies and levels of age are the chart's. On two processors one consumer is as fast as six, so each has one request to Cassandra under
// way and small chunks; levels of lag are lower accordingly.
func TestRecordAutoscaling(t *testing.T) {
	if *autoscaleRecord == "" {
		t.Skip("takes 20 minutes: only with -autoscale.record FILE")
	}
	phases := []phase{{20, 2 * time.Minute}, {400, 5 * time.Minute}, {20, 13 * time.Minute}}
	text, err := os.ReadFile(filepath.Join("..", "..", "deployments", "k8s", "extras", "autoscaling.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := autoscale.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	config.Lag = autoscale.Levels{Half: 2000, All: 6000}
	file, err := os.Create(*autoscaleRecord)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // its writer tells of errors
	record := csv.NewWriter(file)
	_ = record.Write(autoscale.Columns()) // Flush tells

	d := prepareReal(t, byDefault)
	d.env = append(d.env, "FOOTFALL_CASSANDRA_IN_FLIGHT=1", "FOOTFALL_CHUNK_MAX_EVENTS=20")
	d.open(t, 1)
	n, total := 0, time.Duration(0)
	for _, p := range phases {
		n += p.rate * int(p.hold.Seconds())
		total += p.hold
	}
	events, order := load.Make(5, n), load.Order(5, n)
	begun := time.Now()
	wait := sendBehind(t, &load.Client{URL: d.url, Pace: func(place int) {
		select {
		case <-t.Context().Done():
		case <-time.After(time.Until(begun.Add(due(phases, place*n/len(order))))):
		}
	}}, events, order)

	scaler := &autoscale.Autoscaler{Config: config}
	running, leaving := d.started, sync.WaitGroup{}
	for at := time.Duration(0); at < total; at += autoscale.Sync {
		time.Sleep(time.Until(begun.Add(at)))
		s := autoscale.Sample{At: at, Rate: rateAt(phases, at), Replicas: len(running)}
		s.Lag, s.Age = d.lagAndAge(t, running)
		next := scaler.Decide(at, len(running), s.Lag, s.Age)
		_ = record.Write(s.Row()) // Flush tells
		if record.Flush(); record.Error() != nil {
			t.Fatal(record.Error())
		}
		t.Log(strings.Join(s.Row(), ","), "→", next)
		for len(running) < next {
			running = append(running, d.addConsumer(t))
		}
		for _, c := range running[next:] {
			leaving.Go(func() { stop(t, c.Process) })
		}
		running = running[:next:next]
	}
	leaving.Wait()
	want := wait().Oracle(events)
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))
}

// due is when an event is sent.
func due(phases []phase, place int) time.Duration {
	begin := time.Duration(0)
	for _, p := range phases {
		if all := p.rate * int(p.hold.Seconds()); place >= all {
			place -= all
			begin += p.hold
			continue
		}
		return begin + time.Duration(place)*time.Second/time.Duration(p.rate)
	}
	return begin
}

func rateAt(phases []phase, at time.Duration) int {
	for _, p := range phases {
		if at < p.hold {
			return p.rate
		}
		at -= p.hold
	}
	return 0
}

// lagAndAge is what the queries of the ScaledObject ask for: the sum of the lag of all partitions, and the highest age. Rounded as it is recorded.
func (d *real) lagAndAge(t *testing.T, of []*consumer) (lag, age float64) {
	t.Helper()
	for _, c := range of {
		metrics, err := process.Metrics(t.Context(), c.url)
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Tail(20))
		}
		for name, value := range metrics {
			switch {
			case strings.HasPrefix(name, "footfall_lag_events{"):
				lag += value
			case strings.HasPrefix(name, "footfall_uncounted_age_seconds{"):
				age = max(age, value)
			}
		}
	}
	return lag, math.Round(age*10) / 10
}
