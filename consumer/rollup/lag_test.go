package rollup

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// noting counts notes, and lets them fail.
type noting struct {
	*memstore.Memory
	notes atomic.Int64
	fails atomic.Bool
}

func (n *noting) NoteProgress(ctx context.Context, rows []store.Progress) error {
	n.notes.Add(1)
	if n.fails.Load() {
		return errors.New("no such table")
	}
	return n.Memory.NoteProgress(ctx, rows)
}

// noted is the row of p0.
func (n *noting) noted() store.Progress {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return n.Noted[p0]
}

// watched is an owner whose lag is watched until the end of the test, with a log that is end long.
func watched(t *testing.T, end *atomic.Int64) (*ownership, *noting, *bytes.Buffer) {
	m := &noting{Memory: memstore.New()}
	o := newOwner(t, m.Memory, 100)
	delete(o.partitions, p1)
	var log bytes.Buffer
	o.store, o.log = m, slog.New(slog.NewTextHandler(&log, nil))
	o.bounds = func(context.Context, []models.Partition) (map[models.Partition]eventlog.Span, error) {
		return map[models.Partition]eventlog.Span{p0: {To: end.Load()}}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go o.watchLag(ctx)
	t.Cleanup(cancel)
	return o, m, &log
}

// Readers are told within a second of what was counted, and every five seconds that nothing was.
func TestProgressIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var end atomic.Int64
		end.Store(3)
		o, m, _ := watched(t, &end)
		time.Sleep(time.Millisecond)
		if got := m.noted(); got.Counted != 0 || got.LogEnd != 3 || !got.EventTime.IsZero() || !got.At.Equal(time.Now().Add(-time.Millisecond)) {
			t.Errorf("at the beginning the row is %+v", got)
		}
		time.Sleep(19 * time.Second)
		if n := m.notes.Swap(0); n != 4 {
			t.Errorf("%d notes in 19 idle seconds, want 4", n)
		}
		written := time.UnixMilli(1_540_000_000_123)
		for i := range 40 { // four a second
			end.Store(int64(i) + 1)
			c := newChunk(false)
			o.add(c, eventlog.Item{Partition: p0, Offset: int64(i), Event: clickAt(p0, int64(i), "a"), At: written.Add(time.Duration(i) * time.Minute)})
			if err := o.countChunk(t.Context(), c, func(context.Context, map[models.Partition]eventlog.GroupOffset) error { return nil }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(250 * time.Millisecond)
		}
		if n := m.notes.Load(); n < 9 || n > 11 {
			t.Errorf("%d notes in 10 busy seconds, want 10", n)
		}
		time.Sleep(time.Second)
		want := store.Progress{Partition: p0, Counted: 40, LogEnd: 40, EventTime: written.Add(39 * time.Minute)}
		if got := m.noted(); got.Counted != want.Counted || got.LogEnd != want.LogEnd || !got.EventTime.Equal(want.EventTime) {
			t.Errorf("at the end the row is %+v, want %+v", got, want)
		}
	})
}

// Progress that cannot be noted is a warning, once until it succeeds, and stops nobody.
func TestProgressThatIsNotNotedStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var end atomic.Int64
		end.Store(3)
		o, m, log := watched(t, &end)
		m.fails.Store(true)
		time.Sleep(10 * time.Second)
		flush(t, o, chunkOf(o, p0, "a", "b", "c"))
		wantCounts(t, m.Memory, 3, 3)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "no such table"); n != 1 {
			t.Errorf("%d warnings, want 1:\n%s", n, log)
		}
		m.fails.Store(false)
		time.Sleep(2 * time.Second)
		if got := m.noted(); got.Counted != 3 {
			t.Errorf("after the fault the row is %+v", got)
		}
	})
}

// A partition that ends for good is not behind because of what was written to it afterwards; nor is one ahead that was counted further while
// the log's end was asked for.
func TestLagOfSealedAndFastPartitions(t *testing.T) {
	o := newOwner(t, memstore.New(), 100)
	for _, own := range o.partitions {
		own.counted.Store(5)
	}
	o.partitions[p0].sealed, o.partitions[p0].end = true, 5
	o.bounds = func(context.Context, []models.Partition) (map[models.Partition]eventlog.Span, error) {
		return map[models.Partition]eventlog.Span{p0: {To: 7}, p1: {To: 4}}, nil
	}
	rows := o.lag(t.Context())
	if len(rows) != 2 {
		t.Fatal(rows)
	}
	for _, row := range rows {
		if row.Counted != 5 || row.LogEnd != 5 {
			t.Errorf("the row is %+v, want 5 of 5", row)
		}
	}
}

// A partition whose leader is lost makes Kafka's answer for all an error. The others are looked at all the same.
func TestLagBesideALostLeader(t *testing.T) {
	o := newOwner(t, memstore.New(), 100)
	o.bounds = func(_ context.Context, asked []models.Partition) (map[models.Partition]eventlog.Span, error) {
		if slices.Contains(asked, p1) {
			return nil, kafka.LeaderNotAvailable
		}
		return map[models.Partition]eventlog.Span{p0: {To: 7}}, nil
	}
	if rows := o.lag(t.Context()); len(rows) != 1 || rows[0].Partition != p0 || rows[0].LogEnd != 7 {
		t.Errorf("the rows are %+v, want one of %v", rows, p0)
	}
}
