package rollup

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"footfall/models"
)

// transacting is a store that needs a second for a transaction.
type transacting struct{ *memory }

func (s transacting) Take(ctx context.Context, p models.Partition, owner string) (Tenure, error) {
	time.Sleep(time.Second)
	return s.memory.Take(ctx, p, owner)
}

func (s transacting) Progress(ctx context.Context, t Tenure, committed int64) (bool, error) {
	time.Sleep(time.Second)
	return s.memory.Progress(ctx, t, committed)
}

func (s transacting) Release(ctx context.Context, t Tenure, committed int64) (bool, error) {
	time.Sleep(time.Second)
	return s.memory.Release(ctx, t, committed)
}

// A consumer of many partitions is not to stand still for as many transactions, one after the other, at every rebalance.
func TestPartitionsAreTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t, newMemory(), 10)
		o.store = transacting{newMemory()}
		o.partitions = map[models.Partition]*owned{}
		for n := range 2 * partitionsAtOnce {
			o.partitions[models.Partition{Topic: "clicks", Number: n}] = &owned{}
		}
		for _, step := range []struct {
			name string
			do   func() error
		}{
			{"take", func() error { return o.take(t.Context()) }},
			{"progress", func() error { return o.progress(t.Context()) }},
			{"release", func() error { return o.release(t.Context()) }},
		} {
			begun := time.Now()
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if took := time.Since(begun); took != 2*time.Second {
				t.Errorf("%s of %d partitions took %s, want two rounds of a second", step.name, len(o.partitions), took)
			}
		}
	})
}

// Who has lost several partitions puts the last word of each in doubt, and keeps the others.
func TestProgressTellsOfAllThatWereLost(t *testing.T) {
	m := newMemory()
	o := newOwner(t, m, 10)
	p2 := models.Partition{Topic: p0.Topic, Number: 7}
	o.partitions[p2] = &owned{}
	if err := o.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []models.Partition{p0, p1} {
		if _, err := m.Take(t.Context(), p, "another"); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range o.partitions {
		own.next = 5
	}
	if err := o.progress(t.Context()); err == nil {
		t.Error("two partitions were taken by another owner, and nobody says so")
	}
	for p, want := range map[models.Partition]int{p0: 1, p1: 1, p2: 0} {
		if got := len(m.doubts[p]); got != want {
			t.Errorf("partition %d of %s has %d doubts, want %d", p.Number, p.Topic, got, want)
		}
	}
	if o.partitions[p2].confirmed != 5 {
		t.Error("the partition that is still ours was not noted")
	}
}

// failing is a store in which taking one partition fails at first.
type failing struct {
	*memory
	partition models.Partition
	failed    atomic.Bool
}

func (s *failing) Take(ctx context.Context, p models.Partition, owner string) (Tenure, error) {
	if p == s.partition && !s.failed.Swap(true) {
		return Tenure{}, errors.New("overloaded")
	}
	return s.memory.Take(ctx, p, owner)
}

// Taking a partition twice makes it look as if somebody had not left it clean: what failed elsewhere is no reason to.
func TestOnePartitionThatFailsIsTakenAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		o := newOwner(t, m, 10)
		if err := o.release(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.store = &failing{memory: m, partition: p1}
		if err := o.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		for p, own := range o.partitions {
			if !own.tenure.Fresh || own.tenure.Epoch != 1 {
				t.Errorf("partition %d of %s was left clean, and taken with %+v", p.Number, p.Topic, own.tenure)
			}
		}
		if !o.settled.IsZero() {
			t.Error("nobody left anything under way, and yet it is waited for")
		}
	})
}
