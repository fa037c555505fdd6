package rollup

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

func TestVersionsOfOwners(t *testing.T) {
	for owner, want := range map[string]int{
		"host/12/6f1a6a52-5a2f-4f0a-9c3e-0d2f3c1b7a11": 0, "vps/1/x": 0, "": 0, "h/1/u/v": 0, "h/1/u/v7": 7, eventlog.NewOwnerName(): eventlog.DecisionVersion,
	} {
		if got := eventlog.VersionOf(owner); got != want {
			t.Errorf("%q decides by version %d, want %d", owner, got, want)
		}
	}
}

// neighbour is a partition of the same topic that the group gave to another consumer.
var neighbour = models.Partition{Topic: p0.Topic, Number: 5}

// newAgreeing makes an owner of this version. The owner named other has taken the neighbour partition.
func newAgreeing(t *testing.T, m *memstore.Memory, other string, clean bool) *ownership {
	t.Helper()
	m.OwnerRows[neighbour] = memstore.OwnerRow{Tenure: store.Tenure{Partition: neighbour, Owner: other, Epoch: 1}, Clean: clean}
	o := newOwner(t, m, 10)
	o.counts = func(p models.Partition) bool { return p.Topic == p0.Topic && p.Number <= neighbour.Number }
	return o
}

func TestNobodyCountsBesideAnotherVersion(t *testing.T) {
	f := func(other string, clean bool, want ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			o := newAgreeing(t, memstore.New(), other, clean)
			begun := time.Now()
			err := o.agree(t.Context(), agreePatience)
			if refused := new(eventlog.Refusal); errors.As(err, &refused) != (len(want) > 0) {
				t.Errorf("beside %s: %v", other, err)
			}
			for _, text := range want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("beside %s it does not say %q but: %v", other, text, err)
				}
			}
			if took := time.Since(begun); eventlog.VersionOf(other) == eventlog.DecisionVersion && took > 0 {
				t.Errorf("beside %s: waited %s for nothing", other, took)
			}
		})
	}
	f("a/1/u/v5", false)
	f("a/1/u/v5", true)
	f("old/7/u", false, "consumer old/7/u, which has partition 5 of topic clicks", "by version 0", "by version 5", "Stop all consumers")
	f("new/7/u/v6", false, "by version 6")
	f("old/7/u", true) // it has left
}

// A consumer that refuses releases the partitions that were clean, so that the others go on under their epochs, and only those.
func TestARefusalLeavesPartitionsAsTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		if _, err := m.Take(t.Context(), p1, "crashed"); err != nil {
			t.Fatal(err)
		}
		m.OwnerRows[p0] = memstore.OwnerRow{Tenure: store.Tenure{Partition: p0, Owner: "old/7/u", Epoch: 3, Committed: 70}, Clean: true}
		if err := newAgreeing(t, m, "old/7/u", false).agree(t.Context(), agreePatience); err == nil {
			t.Fatal("it counts")
		}
		back, err := m.Take(t.Context(), p0, "old/7/u")
		if err != nil || !back.Fresh || back.Epoch != 3 || back.Committed != 70 {
			t.Errorf("the clean partition comes back as %+v, %v", back, err)
		}
		if dirty, err := m.Take(t.Context(), p1, "old/7/u"); err != nil || dirty.Fresh {
			t.Errorf("the partition that was not left clean comes back as %+v, %v", dirty, err)
		}
	})
}

// A partition whose last owner had another version is waited for until the group's other member has taken it.
func TestAgreeWaitsForOtherMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newAgreeing(t, m, "old/7/u", false)
		go func() {
			time.Sleep(5 * time.Second)
			_, _ = m.Take(context.Background(), neighbour, "a/1/u/v5")
		}()
		begun := time.Now()
		if err := o.agree(t.Context(), agreePatience); err != nil || time.Since(begun) > 7*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

// A consumer that has counted before does not refuse beside a newcomer of another version: it waits until its context ends.
func TestAConsumerThatCountedDoesNotRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := newAgreeing(t, memstore.New(), "new/7/u/v6", false).agree(ctx, math.MaxInt64)
		if refused := new(eventlog.Refusal); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// When another version takes a partition while we count, progress fails, which ends the generation.
func TestAnotherVersionEndsTheGeneration(t *testing.T) {
	m := memstore.New()
	o := newAgreeing(t, m, "old/7/u", true)
	if err := o.progress(t.Context()); err != nil {
		t.Fatalf("the other version has left, and yet progress says %v", err)
	}
	if _, err := m.Take(t.Context(), neighbour, "old/7/u"); err != nil {
		t.Fatal(err)
	}
	o.progressAt = time.Time{}
	err := o.progress(t.Context())
	if refused := new(eventlog.Refusal); err == nil || errors.As(err, &refused) {
		t.Errorf("beside another version progress says %v", err)
	}
}

// Nobody takes partitions that are not counted, such as those of a topic that is configured no more: waiting for one of them would never end.
func TestPartitionsThatNobodyCountsAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, clean := range []bool{true, false} {
			m := memstore.New()
			o := newAgreeing(t, m, "a/1/u/v5", true)
			added := models.Partition{Topic: p0.Topic, Number: neighbour.Number + 1}
			m.OwnerRows[added] = memstore.OwnerRow{Tenure: store.Tenure{Partition: added, Owner: "old/7/u", Epoch: 1}, Clean: clean}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := o.agree(ctx, math.MaxInt64); err != nil {
				t.Errorf("beside an added partition, left clean: %v: %v", clean, err)
			}
			if err := o.stillAgree(ctx); err != nil {
				t.Errorf("beside an added partition, left clean: %v: %v", clean, err)
			}
		}
	})
}
