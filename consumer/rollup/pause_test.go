package rollup

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/pause"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// pause runs `consumer pause` with do as its command.
func (b *bench) pause(t *testing.T, wait time.Duration, do func(context.Context) error) error {
	t.Helper()
	all := func(models.Partition) bool { return true }
	p := &pause.Pauser{Store: b.memory, Counts: all, Report: t.Logf}
	return p.Run(t.Context(), wait, time.Minute, do)
}

// unchanged fails if something is written to the tables within two looks of a consumer.
func (b *bench) unchanged(t *testing.T, before *memstore.Memory) {
	t.Helper()
	for until := time.Now().Add(2500 * time.Millisecond); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		now := b.memory.Snapshot()
		if !reflect.DeepEqual(now.Counters, before.Counters) || !reflect.DeepEqual(now.OwnerRows, before.OwnerRows) ||
			!reflect.DeepEqual(now.First, before.First) || !reflect.DeepEqual(now.Names, before.Names) || !reflect.DeepEqual(now.Noted, before.Noted) {
			t.Error("something was written during the pause")
			return
		}
	}
}

// During a pause nothing is written, whoever joins the group. Afterwards all go on under the same epochs. Tables that are restored from the
// snapshot are behind their group: consumers count again what is missing, and nothing twice.
func TestAPauseIsOneState(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	onBoth(t, 2, func(t *testing.T, b *bench) {
		b.cfg.Kafka.SessionTimeout = 6 * time.Second // a member that is stopped while it joins stays in the group for so long
		stopFirst, endedFirst := b.start(t, "first/1/u/v5")
		b.send(t, 0, 100)
		b.counts(t, 100)
		var snapshot *memstore.Memory
		var stopSecond context.CancelFunc
		var endedSecond chan error
		err := b.pause(t, 30*time.Second, func(context.Context) error {
			snapshot = b.memory.Snapshot()
			b.send(t, 100, 200)
			stopSecond, endedSecond = b.start(t, "second/1/u/v5")
			b.unchanged(t, snapshot)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		b.counts(t, 200)
		b.send(t, 200, 300)
		b.counts(t, 300)
		want := b.memory.Snapshot()
		stopFirst()
		stopSecond()
		if err := errors.Join(<-endedFirst, <-endedSecond); err != nil {
			t.Error(err)
		}
		for p, row := range b.memory.Snapshot().OwnerRows {
			if !row.Clean || !store.IsFirstEpoch(row.Epoch) {
				t.Errorf("%v: %+v; want a clean end under the first epoch", p, row)
			}
		}

		b.memory, b.store = snapshot, snapshot
		b.send(t, 300, 350) // events keep coming
		b.finishes(t, 350)
		if !strings.Contains(b.said.String(), "behind their consumer group") {
			t.Error("it does not tell that the tables were restored")
		}
		b.finishes(t, 350)
		if strings.Contains(b.said.String(), "behind their consumer group") {
			t.Error("it goes back a second time")
		}
		for key, cells := range want.Counters {
			for cell, n := range cells {
				if got := snapshot.Counters[key][cell]; got < n {
					t.Errorf("%v %v: %d, was %d before the restore", key, cell, got, n)
				}
			}
		}
	})
}

// A consumer that dies right after it took restored partitions does not hide from the next one that they are behind.
func TestARestoreIsNoticedThoughAConsumerDies(t *testing.T) {
	b := newBench(t, 1)
	b.send(t, 0, 20)
	b.finishes(t, 20)
	snapshot := b.memory.Snapshot()
	b.send(t, 20, 40)
	b.finishes(t, 40)
	b.memory, b.store = snapshot, snapshot

	c, err := New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, die := context.WithTimeout(t.Context(), patience)
	defer die()
	snapshot.OnTake = die
	if err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	snapshot.OnTake = nil
	if row := snapshot.OwnerRows[models.Partition{Topic: "clicks"}]; row.Clean {
		t.Fatalf("%+v: the partition was not taken", row)
	}
	b.finishes(t, 40)
}

// The control: the ledger is copied first and the counters later, while events are counted. After a restore those in between count twice.
func TestATornSnapshotCountsTwice(t *testing.T) {
	b := newBench(t, 1)
	b.send(t, 0, 20)
	b.finishes(t, 20)
	torn := b.memory.Snapshot()
	b.send(t, 20, 40)
	b.finishes(t, 40)
	torn.Counters = b.memory.Snapshot().Counters
	b.memory, b.store = torn, torn
	b.finishes(t, 60)
}

// All of Kafka is lost, and there are new topics of the same names. Tables that were counted from the old ones refuse them; new tables count.
func TestAnotherKafkaNeedsOtherTables(t *testing.T) {
	old := newBench(t, 1)
	old.send(t, 0, 20)
	old.finishes(t, 20)
	b := newBench(t, 1)
	fresh := b.memory
	b.memory, b.store = old.memory, old.memory
	b.send(t, 20, 30)
	b.refused(t, "was the topic created anew?")
	b.memory, b.store = fresh, fresh
	b.finishes(t, 10)
	if n := old.clicks(); n != 20 {
		t.Errorf("the old tables have %d clicks, want 20", n)
	}
}

// The judgement of `consumer pause`: only if nobody wrote is a snapshot whole.
func TestAPauseThatIsNotOneFails(t *testing.T) {
	ctx, p := context.Background(), models.Partition{Topic: "clicks", Number: 0} // a test's context does not belong to the clock of its subtests
	take := func(b *bench, name string) store.Tenure {
		tenure, err := b.memory.Take(ctx, p, name)
		if err != nil {
			t.Fatal(err)
		}
		return tenure
	}
	leave := func(b *bench, tenure store.Tenure) {
		if ok, err := b.memory.Release(ctx, tenure, tenure.Committed); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	for name, c := range map[string]struct {
		before func(b *bench)
		during func(b *bench) error
		want   string
	}{
		"nobody writes": {},
		"an owner that knows no pauses": {before: func(b *bench) { take(b, "old/1/u") },
			want: "1 partitions are not released, such as partition 0 of clicks (old/1/u)"},
		"taken and held":     {during: func(b *bench) error { take(b, "a"); return nil }, want: "not released"},
		"taken and released": {during: func(b *bench) error { leave(b, take(b, "a")); return nil }, want: "was taken meanwhile, by a"},
		"taken and released as before": {before: func(b *bench) { leave(b, take(b, "a")) },
			during: func(b *bench) error { leave(b, take(b, "a")); return nil }, want: "was taken meanwhile, by a"},
		"a zombie": {before: func(b *bench) { leave(b, take(b, "a")) },
			during: func(b *bench) error { return b.memory.NoteDoubt(ctx, store.Doubt{Partition: p, ID: 7}) }, want: "is in doubt"},
		"the command fails": {during: func(*bench) error { return errors.New("disk full") }, want: "disk full"},
		"a pause that was taken off": {during: func(b *bench) error {
			leases, err := b.memory.Leases(ctx)
			return errors.Join(err, b.memory.EndLease(ctx, leases[0]))
		}, want: "ended before it was over"},
		"a command": {during: func(b *bench) error {
			err := pause.Work(ctx, b.memory, "consumer forget", func(context.Context) error { return errors.New("it runs") })
			if err == nil || !strings.Contains(err.Error(), "a snapshot is being taken") {
				t.Errorf("a command during a pause ended with %v", err)
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // what is left to wait for is the pause's own clock
				b := &bench{memory: memstore.New()}
				if c.before != nil {
					c.before(b)
				}
				err := b.pause(t, 100*time.Millisecond, func(context.Context) error {
					if c.during == nil {
						return nil
					}
					return c.during(b)
				})
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("it ended with %v, want %q", err, c.want)
				}
				if leases, err := b.memory.Leases(t.Context()); err != nil || len(leases) > 0 {
					t.Errorf("left behind: %v, %v", leases, err)
				}
			})
		})
	}
}

// A pause waits for a command that writes.
func TestAPauseWaitsForCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{memory: memstore.New()}
		err := pause.Work(t.Context(), b.memory, "consumer retire", func(context.Context) error {
			return b.pause(t, 100*time.Millisecond, func(context.Context) error { return nil })
		})
		if err == nil || !strings.Contains(err.Error(), "consumer retire (process") {
			t.Errorf("beside a command it ended with %v", err)
		}
		if err := b.pause(t, 100*time.Millisecond, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}
