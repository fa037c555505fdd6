package meter

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// Whatever the order of the times and however far they are apart: each lies in an interval that is a sixteenth of all at the most, or a few
// milliseconds.
func TestTimesAreToldApart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, span := range []time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second, 20 * time.Second, time.Hour, 240 * time.Hour} {
		for range 50 {
			var times Times
			first, last, sum := noon, noon, int64(0)
			var all []int64
			for i := range 1000 {
				at := noon.Add(time.Duration(rnd.Int64N(int64(span))) - span/3)
				if i == 0 {
					first, last = at, at
				}
				if at.Before(first) {
					first = at
				}
				if at.After(last) {
					last = at
				}
				sum += at.UnixMilli()
				all = append(all, at.UnixMilli())
				times.Add(at)
			}
			width := int64(1) << times.shift
			if covered := last.UnixMilli() - first.UnixMilli(); width > max(covered/16, 8) {
				t.Fatalf("intervals of %d ms for times within %d ms", width, covered)
			}
			if first.UnixMilli() < times.begin || last.UnixMilli() >= times.begin+width*bins {
				t.Fatalf("times from %v to %v do not lie within the intervals", first, last)
			}
			var want [bins]uint32
			for _, ms := range all {
				want[(ms-times.begin)/width]++
			}
			if times.counts != want {
				t.Fatalf("within %v: %v in the intervals, want %v", span, times.counts, want)
			}
			if times.n != 1000 || times.sum != sum-1000*times.origin || times.Newest().UnixMilli() != last.UnixMilli() {
				t.Fatalf("%d times; the newest is %v, want %v", times.n, times.Newest(), last)
			}
		}
	}
}

// Messages without a time are left out, and one of a mad sender does no harm.
func TestOddTimes(t *testing.T) {
	var times Times
	for _, at := range []time.Time{{}, time.UnixMilli(-1), time.UnixMilli(0)} {
		times.Add(at)
	}
	if times.n != 0 || !times.Newest().IsZero() {
		t.Errorf("%d times were noted", times.n)
	}
	for _, ms := range []int64{noon.UnixMilli(), math.MaxInt64 / 1_000_000, math.MaxInt64, 1, noon.UnixMilli()} {
		times.Add(time.UnixMilli(ms))
	}
	if times.n != 5 || times.Newest().UnixMilli() != latest {
		t.Errorf("%d times, the newest %v", times.n, times.Newest())
	}
}

// agesOf is what is exported of a topic: how many events, how old together, and how many up to each bound.
func agesOf(t *testing.T, reg *prometheus.Registry, topic string) (n uint64, sum float64, upTo map[float64]uint64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	upTo = map[float64]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != "footfall_event_age_seconds" || m.GetLabel()[0].GetValue() != topic {
				continue
			}
			for _, b := range m.GetHistogram().GetBucket() {
				upTo[b.GetUpperBound()] = b.GetCumulativeCount()
			}
			return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum(), upTo
		}
	}
	t.Fatalf("no histogram of %s", topic)
	return 0, 0, nil
}

func TestAges(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := New(reg)
	m.Topics(map[string]int{"clicks": 2, "visits": 1})
	if n, sum, upTo := agesOf(t, reg, "visits"); n != 0 || sum != 0 || len(upTo) != len(ageBounds) {
		t.Errorf("before anything is counted: %d events, %v s, %v", n, sum, upTo)
	}
	var fresh, old Times
	for range 10 {
		fresh.Add(noon.Add(-200 * time.Millisecond))
	}
	fresh.Add(noon.Add(30 * time.Millisecond)) // of a producer whose clock is ahead
	for i := range 100 {
		old.Add(noon.Add(-time.Hour - time.Duration(i)*time.Second))
	}
	m.Counted("clicks", &fresh, noon)
	m.Counted("clicks", &old, noon)
	n, sum, upTo := agesOf(t, reg, "clicks")
	for bound, want := range map[float64]uint64{.25: 11, .5: 11, 1800: 11, 21600: 111, 86400: 111} {
		if upTo[bound] != want {
			t.Errorf("%d events of at most %v s, want %d", upTo[bound], bound, want)
		}
	}
	if want := 10*.2 - .03 + 100*3600 + 99*100/2; n != 111 || math.Abs(sum-want) > .001 { // exact, whatever the intervals are
		t.Errorf("%d events, %v s together; want 111 and %v", n, sum, want)
	}
	var ahead Times
	ahead.Add(noon.Add(time.Hour))
	m.Counted("visits", &ahead, noon)
	if _, sum, upTo := agesOf(t, reg, "visits"); sum != 0 || upTo[.25] != 1 {
		t.Errorf("an event of the future: %v s, %v", sum, upTo)
	}
}

// Names, labels and help texts are as Prometheus wants them.
func TestLint(t *testing.T) {
	reg := prometheus.NewRegistry()
	New(reg).Topics(map[string]int{"clicks": 1})
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

func BenchmarkTimes(b *testing.B) {
	var times Times
	at := noon
	for b.Loop() {
		at = at.Add(100 * time.Microsecond)
		times.Add(at)
	}
}

// A chunk of twelve partitions, once every half a second or so.
func BenchmarkCounted(b *testing.B) {
	m := New(prometheus.NewRegistry())
	var times Times
	for i := range 10_000 {
		times.Add(noon.Add(time.Duration(i) * time.Millisecond))
	}
	for b.Loop() {
		for range 12 {
			m.Counted("clicks", &times, noon)
		}
	}
}
