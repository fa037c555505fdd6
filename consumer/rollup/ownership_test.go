package rollup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// transacting is a store that needs a second for a transaction.
type transacting struct{ *memstore.Memory }

func (s transacting) Take(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	time.Sleep(time.Second)
	return s.Memory.Take(ctx, p, owner)
}

func (s transacting) Progress(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	time.Sleep(time.Second)
	return s.Memory.Progress(ctx, t, committed)
}

func (s transacting) Release(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	time.Sleep(time.Second)
	return s.Memory.Release(ctx, t, committed)
}

// A consumer of many partitions must not wait for as many transactions, one after the other, at every rebalance.
func TestTransactionsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t, memstore.New(), 10)
		o.store = transacting{memstore.New()}
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

// An owner that has lost several partitions doubts what it counted last of each, and keeps the others.
func TestProgressNamesAllLostPartitions(t *testing.T) {
	m := memstore.New()
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
	err := o.progress(t.Context())
	for _, p := range []models.Partition{p0, p1} {
		if want := fmt.Sprintf("partition %d of %s was taken", p.Number, p.Topic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, and nothing of %s", err, want)
		}
	}
	for p, want := range map[models.Partition]int{p0: 1, p1: 1, p2: 0} {
		if got := len(m.OpenDoubts[p]); got != want {
			t.Errorf("partition %d of %s has %d doubts, want %d", p.Number, p.Topic, got, want)
		}
	}
	if o.partitions[p2].confirmed != 5 {
		t.Error("the partition that is still ours was not noted")
	}
}

// failing is a store in which taking one partition fails at first.
type failing struct {
	*memstore.Memory
	partition models.Partition
	failed    atomic.Bool
}

func (s *failing) Take(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	if p == s.partition && !s.failed.Swap(true) {
		return store.Tenure{}, errors.New("overloaded")
	}
	return s.Memory.Take(ctx, p, owner)
}

// A partition that is taken twice looks as if its last owner had not left clean. So when taking one partition fails, only that one is
// taken again.
func TestOnlyAFailedPartitionIsTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		o := newOwner(t, m, 10)
		if err := o.release(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.store = &failing{Memory: m, partition: p1}
		if err := o.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		for p, own := range o.partitions {
			if !own.tenure.Fresh || !store.IsFirstEpoch(own.tenure.Epoch) {
				t.Errorf("partition %d of %s was left clean, and taken with %+v", p.Number, p.Topic, own.tenure)
			}
		}
		if !o.landedBy.IsZero() {
			t.Error("no write is under way, and yet the owner waits for one")
		}
	})
}

// An owner that has lost one partition releases the others, and doubts nothing of them.
func TestTheOthersAreReleased(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 10)
	for _, own := range o.partitions {
		own.next = 5
	}
	if _, err := m.Take(t.Context(), p0, "another"); err != nil {
		t.Fatal(err)
	}
	if err := o.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(m.OpenDoubts[p0]) != 1 || len(m.OpenDoubts[p1]) != 0 {
		t.Errorf("doubts %v, want one about %v alone", m.OpenDoubts, p0)
	}
	next, err := m.Take(t.Context(), p1, "next")
	if err != nil {
		t.Fatal(err)
	}
	if !next.Fresh || next.Committed != 5 {
		t.Errorf("%v was left with %+v, want it clean and at 5", p1, next)
	}
}
