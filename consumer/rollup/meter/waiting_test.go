package meter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"footfall/consumer/store"
	"footfall/models"
)

func wantAge(t *testing.T, w *Waiting, want time.Duration) {
	t.Helper()
	if got, known := w.age(time.Now()); got != want || !known {
		t.Errorf("the oldest event is %v old (known: %t), want %v", got, known, want)
	}
}

func wantAsks(t *testing.T, w *Waiting, next, before int64) {
	t.Helper()
	if n, b := w.Asks(); n != next || b != before {
		t.Errorf("it asks for %d and %d, want %d and %d", n, b, next, before)
	}
}

// The usual course: events are collected, counted, and come in again.
func TestWaitingForChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Waiting{}
		w.Start(0)
		if _, known := w.age(time.Now()); known {
			t.Error("an age is known before anybody has looked")
		}
		w.Looked(0, time.Now())
		wantAge(t, w, 0)
		wantAsks(t, w, -1, -1)
		written := time.Now()
		time.Sleep(300 * time.Millisecond)
		w.Collects(written)
		wantAge(t, w, 300*time.Millisecond) // before the next look
		time.Sleep(700 * time.Millisecond)
		w.Collects(written.Add(400 * time.Millisecond)) // the next chunk, while the first is written
		wantAge(t, w, time.Second)
		w.Looked(20, time.Now())
		wantAsks(t, w, -1, -1)
		w.Counted(10, written.Add(350*time.Millisecond), written.Add(390*time.Millisecond))
		wantAge(t, w, 600*time.Millisecond)
		w.Counted(20, written.Add(900*time.Millisecond), written.Add(880*time.Millisecond))
		wantAge(t, w, 0)
		if got := w.newestCounted(); got != written.Add(880*time.Millisecond).UnixMilli() {
			t.Errorf("the newest was written at %d", got)
		}
	})
}

// A partition that lags and of which nothing is read shows how long: Kafka tells when the event was written.
func TestWaitingForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Waiting{}
		w.Start(100)
		time.Sleep(time.Second)
		w.Looked(500, time.Now())
		wantAge(t, w, time.Second) // at least: Kafka has not answered yet
		wantAsks(t, w, 100, 99)
		wantAsks(t, w, 100, -1) // it did not answer
		written := time.Now().Add(-3 * time.Hour)
		w.Found(99, 99, written.Add(-time.Hour))
		w.Found(100, 102, written) // 100 and 101 are markers
		wantAge(t, w, 3*time.Hour)
		time.Sleep(time.Minute) // also if Kafka does not answer any more
		wantAge(t, w, 3*time.Hour+time.Minute)
		wantAsks(t, w, -1, -1)
		if got := w.newestCounted(); got != written.Add(-time.Hour).UnixMilli() {
			t.Errorf("the newest was written at %d", got)
		}
		w.Collects(written)
		w.Counted(200, written.Add(time.Hour), written.Add(time.Hour))
		wantAge(t, w, 2*time.Hour+time.Minute) // the next event is about as old as the last one
		w.Looked(500, time.Now())
		wantAsks(t, w, -1, -1) // it is likely to be in a chunk soon
		wantAsks(t, w, 200, -1)
		w.Found(200, 200, written.Add(2*time.Hour))
		wantAge(t, w, time.Hour+time.Minute)
	})
}

// A consumer that cannot reach Kafka does not say that nothing waits: others may reach it.
func TestWaitingUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Waiting{}
		w.Start(100)
		w.Looked(100, time.Now())
		time.Sleep(unseen - time.Millisecond)
		wantAge(t, w, 0)
		time.Sleep(time.Millisecond)
		wantAge(t, w, unseen)
		w.Looked(101, time.Now())
		w.Found(100, -1, time.Time{}) // a marker
		wantAge(t, w, 0)
		time.Sleep(time.Minute)
		wantAge(t, w, time.Minute)
		w.Looked(101, time.Now())
		wantAge(t, w, 0)
	})
}

// An event that comes in after a quiet time, and is held back, is as old as it is: not as old as the last one before it.
func TestWaitingAfterQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Waiting{}
		w.Start(0)
		w.Collects(time.Now())
		w.Counted(1, time.Now(), time.Now())
		for range 3600 {
			time.Sleep(time.Second)
			w.Looked(1, time.Now())
		}
		time.Sleep(time.Second)
		w.Looked(2, time.Now())
		wantAge(t, w, time.Second)
		wantAsks(t, w, -1, -1)
		time.Sleep(time.Second)
		w.Looked(2, time.Now())
		wantAsks(t, w, 1, -1)
		w.Found(1, 1, time.Now().Add(-1500*time.Millisecond))
		wantAge(t, w, 1500*time.Millisecond)
		w.Found(7, 7, time.Now()) // an answer that is late
		wantAge(t, w, 1500*time.Millisecond)
	})
}

// Markers of transactions at the end of the log are nothing that waits, until an event follows.
func TestNothingButMarkersWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Waiting{}
		w.Start(0)
		time.Sleep(time.Second)
		w.Looked(1, time.Now())
		wantAsks(t, w, 0, -1)
		w.Found(0, -1, time.Time{})
		wantAge(t, w, 0)
		w.Found(0, 1, time.Now().Add(-time.Hour)) // beyond the seal
		wantAge(t, w, 0)
		time.Sleep(time.Second)
		w.Looked(2, time.Now())
		wantAge(t, w, 2*time.Second)
		wantAsks(t, w, 0, -1)
		w.Found(0, 1, time.Now().Add(-time.Second/2))
		wantAge(t, w, time.Second/2)
	})
}

// Series of partitions go with them, and come back; those of topics stay as long as the topic is read.
func TestSeriesOfAGenerationGo(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := New(reg)
	m.Topics(map[string]int{"clicks": 2, "visits": 1})
	m.keeps("clicks", time.Hour)
	m.keeps("visits", -1)
	p, q := models.Partition{Topic: "clicks", Number: 0}, models.Partition{Topic: "clicks", Number: 1}
	perPartition := []string{"footfall_lag_events", "footfall_epoch", "footfall_beyond_seal_events", "footfall_uncounted_age_seconds",
		"footfall_newest_counted_timestamp_seconds"}
	want := func(n int, names ...string) {
		t.Helper()
		for _, name := range names {
			if got, err := testutil.GatherAndCount(reg, name); err != nil || got != n {
				t.Errorf("%d series of %s (%v), want %d", got, name, err, n)
			}
		}
	}
	for range 2 {
		want(0, perPartition...)
		waiting := map[models.Partition]*Waiting{p: {}, q: {}}
		for one, w := range waiting {
			m.Took(store.Tenure{Partition: one, Epoch: store.NextEpoch(0, noon), Fresh: true}, false)
			m.Lagging(one, 3)
			m.Beyond(one, 0)
			w.Looked(5, noon)
			w.Counted(5, noon, noon)
		}
		m.Owns(waiting)
		want(2, perPartition...)
		if got := testutil.ToFloat64(m.owned.WithLabelValues("clicks")); got != 2 {
			t.Errorf("%v partitions are owned, want 2", got)
		}
		m.Lost()
		want(2, "footfall_partitions_owned", "footfall_topic_partitions", "footfall_topic_retention_seconds")
		if got := testutil.ToFloat64(m.owned.WithLabelValues("clicks")); got != 0 {
			t.Errorf("%v partitions are owned, want none", got)
		}
	}
	m.Topics(map[string]int{"clicks": 2, "visits-g2": 6})
	want(2, "footfall_partitions_owned", "footfall_topic_partitions")
	want(0, "footfall_topic_retention_seconds")
}

func TestWhyPartitionsAreTaken(t *testing.T) {
	m := New(prometheus.NewRegistry())
	m.Took(store.Tenure{Epoch: 1, Fresh: true}, false)
	m.Took(store.Tenure{Epoch: 1, Before: 1, Fresh: true}, false)
	m.Took(store.Tenure{Epoch: 2, Before: 1}, false)
	m.Took(store.Tenure{Epoch: 3, Before: 2}, true)
	for _, reason := range []string{"first", "handover", "takeover", "renewal"} {
		if got := testutil.ToFloat64(m.taken.WithLabelValues(reason)); got != 1 {
			t.Errorf("%v partitions were taken as %s, want 1", got, reason)
		}
	}
}
