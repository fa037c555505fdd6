// Package autoscale is a model of how the number of consumers follows lag and age under the chart's ScaledObject: KEDA hands what its queries
// return to a HorizontalPodAutoscaler, whose rules are here as Kubernetes documents and implements them. It does no I/O. Tests play it over
// recordings of real consumers.
package autoscale

import (
	"math"
	"time"
)

// Sync is how often the HorizontalPodAutoscaler decides (the controller's default).
const Sync = 15 * time.Second

// Tolerance is how far from its target a metric may be without a change (the controller's default).
const Tolerance = 0.1

// Config is what the ScaledObject says.
type Config struct {
	Min, Max int
	Half     int // how many consumers the lower level wants

	Lag, Age Levels

	// A change has to be wanted for this long: the smallest number of the window on the way up, the largest on the way down.
	UpWindow, DownWindow time.Duration

	UpPods      int // at most so many more
	UpPeriod    time.Duration
	DownPercent int // at most so many percent fewer
	DownPeriod  time.Duration
}

// Levels are values above which half of the consumers work, or all.
type Levels struct{ Half, All float64 }

// wanted is what the query returns for a value: a number of consumers.
func (c Config) wanted(value float64, at Levels) float64 {
	switch {
	case value > at.All:
		return float64(c.Max)
	case value > at.Half:
		return float64(c.Half)
	}
	return float64(c.Min)
}

// Autoscaler decides about one Deployment. Its zero value with a Config has no history. It is not safe for concurrent use.
type Autoscaler struct {
	Config

	wishes  []wish
	changes []change
}

// wish is a number that the metrics asked for, before windows and policies.
type wish struct {
	at       time.Duration
	replicas int
}

// change is a number of replicas that were added, or removed if it is negative.
type change struct {
	at time.Duration
	by int
}

// Decide returns the number of replicas that follow current at a moment, by the lag and age of that moment. Moments only grow.
func (a *Autoscaler) Decide(now time.Duration, current int, lag, age float64) int {
	desired := max(a.proposal(current, a.wanted(lag, a.Lag)), a.proposal(current, a.wanted(age, a.Age)))
	return a.settle(now, current, desired)
}

// proposal is the number for one metric of type AverageValue with a target of 1 for each pod.
func (a *Autoscaler) proposal(current int, sum float64) int {
	if math.Abs(1-sum/float64(current)) <= Tolerance {
		return current
	}
	return int(math.Ceil(sum))
}

// settle applies windows, policies and bounds to what the metrics want, and notes it.
func (a *Autoscaler) settle(now time.Duration, current, desired int) int {
	next := a.bounded(now, current, a.stable(now, current, desired))
	if next != current {
		a.changes = append(a.changes, change{now, next - current})
	}
	return next
}

// stable looks back: up only as far as was wanted all the time, down only as far as was never wanted more.
func (a *Autoscaler) stable(now time.Duration, current, desired int) int {
	up, down := desired, desired
	for _, w := range a.wishes {
		if w.at > now-a.UpWindow {
			up = min(up, w.replicas)
		}
		if w.at > now-a.DownWindow {
			down = max(down, w.replicas)
		}
	}
	a.wishes = append(a.wishes, wish{now, desired})
	switch {
	case current < up:
		return up
	case current > down:
		return down
	}
	return current
}

// bounded limits a change by the policies, and by Min and Max.
func (a *Autoscaler) bounded(now time.Duration, current, desired int) int {
	switch {
	case desired > current:
		most := max(current, a.before(now, current, a.UpPeriod)+a.UpPods)
		return min(desired, most, a.Max)
	case desired < current:
		began := a.before(now, current, a.DownPeriod)
		least := min(current, int(float64(began)*(1-float64(a.DownPercent)/100)))
		return max(desired, least, a.Min)
	}
	return min(max(current, a.Min), a.Max)
}

// before is how many replicas there were when a period began.
func (a *Autoscaler) before(now time.Duration, current int, period time.Duration) int {
	for _, c := range a.changes {
		if c.at > now-period {
			current -= c.by
		}
	}
	return current
}
