package stats_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// watched is a Pulse on a store in memory, with a clock that the test sets. Moments are in milliseconds from the beginning of a second.
type watched struct {
	*stats.Pulse
	t     *testing.T
	store *statstest.Memory
	now   time.Time
}

var atSecond = time.Date(2018, 10, 1, 12, 0, 0, 0, time.UTC)

func millisecond(ms int) time.Time { return atSecond.Add(time.Duration(ms) * time.Millisecond) }

func watch(t *testing.T) *watched {
	w := &watched{t: t, store: statstest.NewMemory(models.DefaultPlan()), now: atSecond}
	w.Pulse = stats.NewPulse(w.store, "clicks", "visits", func() time.Time { return w.now })
	return w
}

// note is a row that a consumer notes; all of the log is counted.
func (w *watched) note(topic string, partition int, counted int64, at int) {
	w.store.Note(w.t, stats.Progress{Partition: models.Partition{Topic: topic, Number: partition}, Counted: counted, LogEnd: counted, At: millisecond(at)})
}

func (w *watched) read(at int) {
	w.t.Helper()
	w.now = millisecond(at)
	if err := w.ReadOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// want compares the clicks of the seconds until now; there must be none before.
func (w *watched) want(bars ...int64) {
	w.t.Helper()
	got, sum := w.Last().Clicks, int64(0)
	for _, n := range bars {
		sum += n
	}
	if last := got.Bars[stats.Bars-len(bars):]; !slices.Equal(last, bars) || got.Counted != sum {
		w.t.Errorf("%d counted, by second %v, want %v", got.Counted, got.Bars, bars)
	}
}

func TestPulseCountsBySecond(t *testing.T) {
	w := watch(t)
	w.want(0)
	if m := w.Last(); !m.Since.IsZero() || m.Watched != 0 || m.Clicks.Counting {
		t.Errorf("%+v before anything was read", m)
	}
	w.note("clicks", 0, 1000, -200) // counted before anybody watched
	w.note("visits", 0, 70, -200)
	w.read(0)
	w.want(0)
	for i := 1; i <= 70; i++ { // ten a second, of two generations
		w.note("clicks", 0, 1000+int64(6*i), 1000*i-200)
		w.note("clicks-g2", 3, 500+int64(4*i), 1000*i-200)
		w.read(1000 * i)
	}
	m := w.Last()
	if m.Clicks.Counted < 580 || m.Clicks.Counted > 600 || m.Visits.Counted != 0 {
		t.Errorf("%d clicks and %d visits in a minute, want ten clicks a second", m.Clicks.Counted, m.Visits.Counted)
	}
	for i, n := range m.Clicks.Bars[:stats.Bars-stats.Growing] {
		if n < 9 || n > 11 { // a second has a fifth of one note and four fifths of the next
			t.Errorf("bar %d is %d, want about 10", i, n)
		}
	}
	if m.Watched != time.Minute || !m.Since.Equal(atSecond) || !m.Read.Equal(w.now) || !m.End.Equal(millisecond(71_000)) || !m.Clicks.Counting || m.Visits.Counting {
		t.Errorf("%v watched since %v, read %v, until %v", m.Watched, m.Since, m.Read, m.End)
	}
	w.now = millisecond(135_000)
	if m := w.Last(); m.Clicks.Counted != 0 || m.Clicks.Counting {
		t.Errorf("a minute later %d of %+v", m.Clicks.Counted, m)
	}
}

func TestPulseOfAReaderThatHasJustStarted(t *testing.T) {
	w := watch(t)
	w.note("clicks", 0, 100, -30_000) // it was silent, and goes on
	w.read(900)
	w.note("clicks", 0, 140, 10_000)
	w.read(10_500)
	m := w.Last()
	if m.Watched != 9*time.Second || m.Clicks.Counted > 11 || m.Clicks.Counted == 0 {
		t.Errorf("%d in %v, want a quarter of 40 in 9 s: most of it may have been counted before", m.Clicks.Counted, m.Watched)
	}
}

// What is noted together was counted in the time since the note before.
func TestPulseSpreadsWhatIsNotedLate(t *testing.T) {
	w := watch(t)
	w.note("clicks", 0, 0, 0)
	w.read(0)
	w.note("clicks", 0, 10, 1000)
	w.read(1100)
	for i := 2; i < 5; i++ {
		w.read(1000*i + 100)
	}
	w.note("clicks", 0, 50, 5000) // of a consumer that is busy: noting failed meanwhile
	w.read(5100)
	w.want(10, 10, 10, 10, 10, 0)
	w.note("clicks", 0, 53, 7000) // does not divide
	w.read(7100)
	w.want(10, 10, 10, 10, 10, 1, 2, 0)
}

// A consumer that rests notes every five seconds, and within a second what it counts then.
func TestPulseAfterARest(t *testing.T) {
	w := watch(t)
	w.note("clicks", 0, 7, 0)
	w.read(0)
	w.note("clicks", 0, 7, 5000)
	for i := 5; i < 9; i++ {
		w.read(1000*i + 100)
	}
	w.note("clicks", 0, 107, 9000)
	w.read(9100)
	w.want(100, 0)
	w.note("clicks", 0, 107, 14_000)
	w.read(14_100)
	w.note("clicks", 0, 137, 17_000)
	w.read(17_100) // nobody read for three seconds: nobody knows in which of them
	w.want(100, 0, 0, 0, 0, 0, 10, 10, 10, 0)
}

// What a consumer counts that was away is in the seconds when it was back, not in those that were shown as empty.
func TestPulseAfterAConsumerWasAway(t *testing.T) {
	w := watch(t)
	for i := range 53 {
		if i < 3 {
			w.note("clicks", 0, 10*int64(i), 1000*i)
		}
		if i == 52 {
			w.note("clicks", 0, 5020, 1000*i)
		}
		w.read(1000*i + 100)
	}
	m := w.Last().Clicks
	if n := m.Bars[stats.Bars-2]; n != 5000 || m.Counted != 5020 {
		t.Errorf("%d in the last second of %d, by second %v; want 5000 of 5020", n, m.Counted, m.Bars)
	}
}

func TestPulseNeverCountsTwice(t *testing.T) {
	w := watch(t)
	f := func(counted int64, noted, read int, want ...int64) {
		t.Helper()
		w.note("clicks", 0, counted, noted)
		w.read(read)
		w.want(want...)
	}
	f(100, 0, 100, 0)
	f(100, 1000, 1100, 0, 0)
	f(105, 2000, 2100, 5, 0)
	f(100, 1000, 2200, 5, 0)       // a replica that is behind
	f(105, 2000, 2300, 5, 0)       // and one that is not
	f(105, 2000, 2900, 5, 0)       // nothing new
	w.note("clicks", 1, 900, 3000) // a partition that is new
	w.read(3100)
	w.want(5, 0, 0)
	w.store.Note(t, stats.Progress{Partition: models.Partition{Topic: "clicks"}, Counted: 60, LogEnd: 105, At: millisecond(4000)}) // set back
	w.read(4100)
	w.want(5, 0, 0, 0)
	if lag := w.Last().Clicks.Lag; lag != 45 {
		t.Errorf("lag %d, want 45", lag)
	}
	f(109, 5000, 5100, 5, 0, 0, 4, 0)
	f(3, 6000, 6100, 5, 0, 0, 4, 0, 0) // another log
	f(5, 7000, 7100, 5, 0, 0, 4, 0, 2, 0)
}

// A consumer's clock that is wrong does not move its events out of the minute.
func TestPulseOfClocksThatAreWrong(t *testing.T) {
	for _, wrong := range []int{-3_600_000, 3_600_000, 400} {
		w := watch(t)
		for i := range 4 {
			w.note("clicks", 0, int64(10*i), 1000*i+wrong)
			w.read(1000*i + 50)
		}
		if m := w.Last().Clicks; m.Counted != 30 {
			t.Errorf("%d ms off: %d counted, by second %v; want 30", wrong, m.Counted, m.Bars)
		}
	}
}

func TestPulseRunsUntilItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := statstest.NewMemory(models.DefaultPlan())
		m.NoteNow("visits", 5)
		p := stats.NewPulse(m, "clicks", "visits", time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { p.Run(ctx) })
		time.Sleep(2500 * time.Millisecond)
		m.NoteNow("visits", 9)
		time.Sleep(time.Second)
		if got := p.Last(); got.Visits.Counted != 4 || got.Watched != 3*time.Second || !got.Visits.Counting {
			t.Errorf("%+v, want 4 visits in 3 s", got)
		}
		m.Fail(errors.New("away"))
		time.Sleep(10 * time.Second)
		if got := p.Last(); time.Since(got.Read) < 10*time.Second || got.Visits.Counted != 4 {
			t.Errorf("%d, read %v ago, want that reading has failed for 10 s", got.Visits.Counted, time.Since(got.Read))
		}
		m.Fail(nil)
		time.Sleep(2 * time.Second)
		if got := p.Last(); time.Since(got.Read) > time.Second {
			t.Errorf("read %v ago, want that it goes on", time.Since(got.Read))
		}
		cancel()
		running.Wait()
	})
}

func TestPulseIsSafeForConcurrentUse(t *testing.T) {
	w := watch(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			w.note("clicks", i, 1, i)
			if err := w.ReadOnce(t.Context()); err != nil {
				t.Error(err)
			}
			_ = fmt.Sprint(w.Last())
		})
	}
	all.Wait()
}
