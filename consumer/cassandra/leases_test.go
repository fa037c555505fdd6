package cassandra

import (
	"testing"
	"time"

	"footfall/consumer/store"
)

// testLeases: a lease is in force until it is ended, or until nobody has renewed it.
func testLeases(t *testing.T, s *Store) {
	pause, command := store.Lease{Kind: store.LeasePause, ID: "a", What: "who"}, store.Lease{Kind: store.LeaseCommand, ID: "a", What: "what"}
	want := func(leases ...store.Lease) bool {
		t.Helper()
		got, err := s.Leases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := map[store.Lease]bool{}
		for _, l := range got {
			found[l] = true
		}
		for _, l := range leases {
			if !found[l] {
				return false
			}
		}
		return len(got) == len(leases)
	}
	keep := func(l store.Lease, ttl time.Duration) {
		t.Helper()
		if err := s.KeepLease(t.Context(), l, ttl); err != nil {
			t.Fatal(err)
		}
	}
	keep(pause, time.Minute)
	keep(command, time.Minute)
	keep(pause, 2*time.Minute)
	if !want(pause, command) {
		t.Error("not both are in force")
	}
	if err := s.EndLease(t.Context(), pause); err != nil || !want(command) {
		t.Errorf("the pause was not ended alone: %v", err)
	}
	keep(command, time.Second)
	for until := time.Now().Add(10 * time.Second); !want(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a lease of a second does not end")
		}
	}
}
