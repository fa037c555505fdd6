package autoscale

import (
	"math"
	"os"
	"slices"
	"testing"
)

// recording is what test/e2e recorded on real servers while this model started and stopped real consumers (TestRecordAutoscaling).
func recording(t *testing.T) []Sample {
	t.Helper()
	file, err := os.Open("testdata/step.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	samples, err := ReadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// recorded is the chart's configuration with the levels of lag of the recording, whose consumers were slowed down.
func recorded(t *testing.T) Config {
	c := chart(t)
	c.Lag = Levels{2000, 6000}
	return c
}

// perStep counts changes of the number of consumers by step of the load, of which the first is the beginning.
func perStep(samples []Sample, replicas []int) (changes []int) {
	changes = []int{0}
	for i := 1; i < len(samples); i++ {
		if samples[i].Rate != samples[i-1].Rate {
			changes = append(changes, 0)
		}
		if replicas[i] != replicas[i-1] {
			changes[len(changes)-1]++
		}
	}
	return changes
}

// Over a load step that real consumers went through, the model scales from one to all partitions and back, with at most two changes a step.
func TestRecordedStep(t *testing.T) {
	samples, c := recording(t), recorded(t)
	a, now := &Autoscaler{Config: c}, 1
	var replicas []int
	for i, s := range samples {
		if s.Replicas != now {
			t.Fatalf("line %d: %d consumers ran, the model wants %d", i+2, s.Replicas, now)
		}
		replicas = append(replicas, now)
		now = a.Decide(s.At, now, s.Lag, s.Age)
	}
	if most := slices.Max(replicas); most != c.Max || replicas[0] != c.Min || now != c.Min {
		t.Errorf("from %d to %d and back to %d, want %d, %d, %d", replicas[0], most, now, c.Min, c.Max, c.Min)
	}
	changes := perStep(samples, replicas)
	if t.Log("changes by step:", changes); len(changes) != 3 || slices.Max(changes) > 2 {
		t.Errorf("changes by step of the load: %v, want three steps with at most two", changes)
	}
}

// The usual way, a number of consumers in proportion to the lag with the behaviour that Kubernetes has by default, changes more often on the same recording.
// So the test above can fail.
func TestProportionalScalingChangesMoreOften(t *testing.T) {
	samples, c := recording(t), recorded(t)
	c.UpWindow, c.DownPercent, c.UpPods = 0, 100, 4
	a, now := &Autoscaler{Config: c}, 1
	var replicas []int
	for _, s := range samples {
		replicas = append(replicas, now)
		now = a.settle(s.At, now, max(c.Min, int(math.Ceil(s.Lag/(c.Lag.All/float64(c.Max))))))
	}
	changes := perStep(samples, replicas)
	if t.Log("changes by step:", changes); slices.Max(changes) <= 2 {
		t.Errorf("changes by step: %v", changes)
	}
}
