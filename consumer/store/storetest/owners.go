package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

func partition() models.Partition { return models.Partition{Topic: name("topic"), Number: 3} }

func (s *suite) take(t *testing.T, p models.Partition, owner string) store.Tenure {
	t.Helper()
	tenure, err := s.store.Take(t.Context(), p, owner)
	if err != nil {
		t.Fatalf("Take by %s: %v", owner, err)
	}
	return tenure
}

// wantTake takes a partition and compares the tenure. If want is a clean handover, the epoch must be the one before; else a greater one
// with random bits.
func (s *suite) wantTake(t *testing.T, want store.Tenure) store.Tenure {
	t.Helper()
	got := s.take(t, want.Partition, want.Owner)
	if want.Epoch = got.Epoch; got != want {
		t.Errorf("Take by %s gives %+v, want %+v", want.Owner, got, want)
	}
	if handedOver := want.Fresh && want.Before > 0; handedOver != (got.Epoch == want.Before) || got.Epoch < want.Before {
		t.Errorf("Take by %s gives epoch %d after %d, handed over clean: %t", want.Owner, got.Epoch, want.Before, handedOver)
	}
	if got.Epoch < 1<<31 {
		t.Errorf("Take by %s gives epoch %d, which has no random bits", want.Owner, got.Epoch)
	}
	return got
}

func (s *suite) wantRelease(t *testing.T, tenure store.Tenure, committed int64, want bool) {
	t.Helper()
	got, err := s.store.Release(t.Context(), tenure, committed)
	if err != nil {
		t.Fatalf("Release by %s: %v", tenure.Owner, err)
	}
	if got != want {
		t.Errorf("Release by %s of epoch %d is %t, want %t", tenure.Owner, tenure.Epoch, got, want)
	}
}

// testOwners follows one partition through owners that crash and owners that leave clean.
func testOwners(t *testing.T, s *suite) {
	p := partition()
	a := s.wantTake(t, store.Tenure{Partition: p, Owner: "a", Fresh: true})
	b := s.wantTake(t, store.Tenure{Partition: p, Owner: "b", Before: a.Epoch}) // a has not left
	s.wantRelease(t, b, 5_000_000_000_000, true)
	c := s.wantTake(t, store.Tenure{Partition: p, Owner: "c", Before: b.Epoch, Fresh: true, Committed: 5_000_000_000_000})
	s.wantRelease(t, c, 5_000_000_000_001, true)
	s.wantTake(t, store.Tenure{Partition: p, Owner: "c", Before: b.Epoch, Fresh: true, Committed: 5_000_000_000_001})
	// c crashes and comes back under its own name: still a new epoch. Committed stays that of the last clean owner.
	c = s.wantTake(t, store.Tenure{Partition: p, Owner: "c", Before: b.Epoch, Committed: 5_000_000_000_001})
	s.wantTake(t, store.Tenure{Partition: p, Owner: "d", Before: c.Epoch, Committed: 5_000_000_000_001})
}

// testOwnersOfOtherPartitions: partitions and topics have epochs of their own.
func testOwnersOfOtherPartitions(t *testing.T, s *suite) {
	p := partition()
	s.take(t, p, "a")
	last := s.take(t, p, "a")
	sibling, namesake := p, p
	sibling.Number++
	namesake.Topic += "x"
	one := s.wantTake(t, store.Tenure{Partition: sibling, Owner: "a", Fresh: true})
	two := s.wantTake(t, store.Tenure{Partition: namesake, Owner: "a", Fresh: true})
	s.wantTake(t, store.Tenure{Partition: p, Owner: "a", Before: last.Epoch})
	if one.Epoch == two.Epoch {
		t.Errorf("two partitions got the same epoch %d: two owners of one partition could, too", one.Epoch)
	}
}

// testListOfOwners: Owners lists the last owner of each partition, whether it left clean, and how far it was.
func testListOfOwners(t *testing.T, s *suite) {
	p, q := partition(), partition()
	s.take(t, p, "a")
	b := s.take(t, p, "b")
	c := s.take(t, q, "c")
	s.wantRelease(t, c, 7, true)
	owners, err := s.store.Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []store.Owner{
		{Partition: p, Name: b.Owner, Epoch: b.Epoch}, {Partition: q, Name: c.Owner, Clean: true, Epoch: c.Epoch, Committed: 7},
	} {
		n := 0
		for _, o := range owners {
			if ago := time.Since(o.TakenAt); o.Partition == want.Partition && (ago < -time.Minute || ago > time.Hour) {
				t.Errorf("%+v was taken %v ago", o, ago)
			}
			if o.TakenAt = (time.Time{}); o == want {
				n++
			} else if o.Partition == want.Partition {
				t.Errorf("%+v is listed, want %+v", o, want)
			}
		}
		if n != 1 {
			t.Errorf("%+v is listed %d times", want, n)
		}
	}
}

// testReleaseAfterLoss: an owner that has lost a partition cannot make it look clean.
func testReleaseAfterLoss(t *testing.T, s *suite) {
	p := partition()
	a := s.take(t, p, "a")
	b := s.take(t, p, "b")
	s.wantRelease(t, a, 100, false)
	s.wantTake(t, store.Tenure{Partition: p, Owner: "c", Before: b.Epoch}) // a's release changed nothing

	// The same epoch, another owner: a left clean, b has taken its epoch over, a releases again.
	p = partition()
	a = s.take(t, p, "a")
	s.wantRelease(t, a, 10, true)
	s.wantTake(t, store.Tenure{Partition: p, Owner: "b", Before: a.Epoch, Fresh: true, Committed: 10})
	s.wantRelease(t, a, 20, false)
	s.wantTake(t, store.Tenure{Partition: p, Owner: "c", Before: a.Epoch, Committed: 10})

	// The same owner, an earlier tenure.
	p = partition()
	a = s.take(t, p, "a")
	b = s.take(t, p, "a")
	s.wantRelease(t, a, 20, false)
	s.wantTake(t, store.Tenure{Partition: p, Owner: "c", Before: b.Epoch})
}

// eventually takes p; a store under contention may give up a few times.
func (s *suite) eventually(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	for {
		tenure, err := s.store.Take(ctx, p, owner)
		if err == nil || ctx.Err() != nil {
			return tenure, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// testConcurrentTakes: of many owners that take a partition at once no two get the same epoch, and at most one is told that it is the
// first.
func testConcurrentTakes(t *testing.T, s *suite) {
	const takers = 20
	p := partition()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	owner, fresh := map[int64]string{}, 0
	var wg sync.WaitGroup
	for i := range takers {
		wg.Go(func() {
			me := fmt.Sprintf("owner-%d", i)
			tenure, err := s.eventually(ctx, p, me)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("Take by %s: %v", me, err)
			case tenure.Owner != me || tenure.Partition != p:
				t.Errorf("%s got %+v", me, tenure)
			case owner[tenure.Epoch] != "":
				t.Errorf("epoch %d went to %s and to %s", tenure.Epoch, owner[tenure.Epoch], me)
			}
			owner[tenure.Epoch] = me
			if tenure.Fresh {
				fresh++
			}
		})
	}
	wg.Wait()
	if fresh > 1 {
		t.Errorf("%d owners were told that they are the first", fresh)
	}
}

// testConcurrentTakesAndReleases: an epoch is handed over only if it was released, once per release.
func testConcurrentTakesAndReleases(t *testing.T, s *suite) {
	const takers, rounds = 8, 4 // a lightweight transaction under contention is slow: more would show nothing new
	p := partition()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	taken, released := map[int64]int{}, map[int64]int{}
	freshTakes, releases := 0, 0
	var wg sync.WaitGroup
	for i := range takers {
		wg.Go(func() {
			for round := range rounds {
				tenure, err := s.eventually(ctx, p, fmt.Sprintf("owner-%d-%d", i, round))
				if err != nil {
					t.Errorf("Take: %v", err)
					return
				}
				ok := false
				if (i+round)%2 == 0 {
					ok, err = s.store.Release(ctx, tenure, int64(round))
				}
				mu.Lock()
				taken[tenure.Epoch]++
				if tenure.Fresh {
					freshTakes++
				}
				if ok || err != nil { // after an error it may be released all the same
					released[tenure.Epoch]++
					releases++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for epoch, n := range taken {
		if n > 1+released[epoch] {
			t.Errorf("epoch %d was taken %d times and released %d times", epoch, n, released[epoch])
		}
	}
	if freshTakes > 1+releases {
		t.Errorf("%d takes were fresh after %d releases", freshTakes, releases)
	}
}
