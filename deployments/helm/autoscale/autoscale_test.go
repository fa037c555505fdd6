package autoscale

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// chart is the ScaledObject as the chart renders it by default.
func chart(t *testing.T) Config {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "k8s", "extras", "autoscaling.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// play lets an autoscaler decide over values of lag, one each sync, beginning with one consumer. It returns the numbers of consumers.
func play(a *Autoscaler, lag ...float64) (replicas []int) {
	now := 1
	for i, n := range lag {
		now = a.Decide(time.Duration(i)*Sync, now, n, 0)
		replicas = append(replicas, now)
	}
	return replicas
}

// hold repeats a value for a time.
func hold(value float64, d time.Duration) []float64 {
	return slices.Repeat([]float64{value}, int(d/Sync))
}

// events counts the changes.
func events(replicas []int) (n int) {
	for i := 1; i < len(replicas); i++ {
		if replicas[i] != replicas[i-1] {
			n++
		}
	}
	return n
}

func TestTheChart(t *testing.T) {
	c := chart(t)
	if c.Min != 1 || c.Max != 6 || c.Half != 3 || c.Lag.Half >= c.Lag.All || c.Age.Half >= c.Age.All || c.DownWindow < 5*time.Minute {
		t.Errorf("%+v", c)
	}
}

// A peak that is over within the window changes nothing; one that lasts brings all at once; afterwards they leave in two steps.
func TestALoadStep(t *testing.T) {
	c := chart(t)
	if got := play(&Autoscaler{Config: c}, slices.Concat(hold(0, time.Minute), hold(10*c.Lag.All, c.UpWindow-Sync), hold(0, time.Minute))...); events(got) != 0 {
		t.Errorf("a peak of %v: %v", c.UpWindow-Sync, got)
	}
	step := slices.Concat(hold(0, time.Minute), hold(10*c.Lag.All, 5*time.Minute), hold(0, 30*time.Minute))
	got := play(&Autoscaler{Config: c}, step...)
	if most := slices.Max(got); most != c.Max || events(got) != 3 || got[len(got)-1] != c.Min {
		t.Errorf("a step: %v", got)
	}
	if down := slices.Index(got[8:], c.Half) + 8; time.Duration(down)*Sync < 6*time.Minute+c.DownWindow-Sync {
		t.Errorf("consumers leave after %v already: %v", time.Duration(down)*Sync, got)
	}
}

// However lag rises, and whatever noise is on it, a rise makes two changes at the most: there are two levels above the least.
func TestARiseIsTwoChangesAtMost(t *testing.T) {
	c := chart(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var lag []float64
		speed := c.Lag.All * math.Pow(10, -2*r.Float64())
		for n := 0.0; n < 3*c.Lag.All; n += speed * r.Float64() {
			lag = append(lag, n*(0.8+0.4*r.Float64()))
		}
		if got := play(&Autoscaler{Config: c}, lag...); events(got) > 2 || slices.Max(got) > c.Max {
			t.Fatalf("seed %d: %v", seed, got)
		}
	}
}

// Bounds and the pace on the way down hold for any values.
func TestBoundsHold(t *testing.T) {
	c := chart(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, now := &Autoscaler{Config: c}, 1
		var replicas []int
		for i := range 400 {
			replicas = append(replicas, now)
			now = a.Decide(time.Duration(i)*Sync, now, r.Float64()*2*c.Lag.All*float64(i%50)/50, r.Float64()*r.Float64()*2*c.Age.All)
			if now < c.Min || now > c.Max {
				t.Fatalf("seed %d: %d consumers", seed, now)
			}
			began := replicas[max(0, len(replicas)-int(c.DownPeriod/Sync))]
			if now < replicas[len(replicas)-1] && began > 0 && now < began/2 {
				t.Fatalf("seed %d: from %d to %d within %v", seed, began, now, c.DownPeriod)
			}
		}
	}
}

// Each metric alone is enough, and a value within the tolerance changes nothing.
func TestMetrics(t *testing.T) {
	c := chart(t)
	c.UpWindow = 0
	f := func(lag, age float64, current, want int) {
		t.Helper()
		if got := (&Autoscaler{Config: c}).Decide(0, current, lag, age); got != want {
			t.Errorf("lag %g, age %g: from %d to %d, want %d", lag, age, current, got, want)
		}
	}
	f(0, 0, 1, 1)
	f(c.Lag.Half, c.Age.Half, 1, 1)
	f(c.Lag.Half+1, 0, 1, c.Half)
	f(0, c.Age.Half+1, 1, c.Half)
	f(c.Lag.All+1, 0, 1, c.Max)
	f(c.Lag.Half+1, c.Age.All+1, 1, c.Max)
	f(c.Lag.All+1, 0, c.Max, c.Max)
	c.Max, c.Half = 22, 11
	f(c.Lag.All+1, 0, 21, 21) // 22 is within a tenth of 21
}
