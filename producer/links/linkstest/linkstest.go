// Package linkstest is the conformance test of stores of links.
package linkstest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/producer/links"
)

// Run tests a store. open returns the same store, empty or not, in each call.
func Run(t *testing.T, open func(t *testing.T) links.Store) {
	prefix := "t" + strconv.FormatInt(time.Now().UnixNano(), 36)
	at := time.Date(2026, 2, 3, 4, 5, 6, 7_000_000, time.UTC)
	create := func(t *testing.T, s links.Store, short, long, wantExisting string, wantCreated bool) {
		t.Helper()
		existing, created, err := s.Create(t.Context(), short, long, at)
		if err != nil || existing != wantExisting || created != wantCreated {
			t.Errorf("Create(%s, %s) = %q, %v, %v; want %q, %v", short, long, existing, created, err, wantExisting, wantCreated)
		}
	}
	target := func(t *testing.T, s links.Store, short, want string, wantFound bool) {
		t.Helper()
		if long, found, err := s.Target(t.Context(), short); err != nil || long != want || found != wantFound {
			t.Errorf("Target(%s) = %q, %v, %v; want %q, %v", short, long, found, err, want, wantFound)
		}
	}
	t.Run("OnceAndForAll", func(t *testing.T) {
		s, short := open(t), prefix+"-once"
		target(t, s, short, "", false)
		create(t, s, short, "https://a.example/", "", true)
		target(t, s, short, "https://a.example/", true)
		create(t, s, short, "https://b.example/", "https://a.example/", false)
		create(t, s, short, "https://a.example/", "https://a.example/", false)
		target(t, s, short, "https://a.example/", true)
		target(t, open(t), short, "https://a.example/", true)
	})
	t.Run("NamesAreExact", func(t *testing.T) {
		s := open(t)
		create(t, s, prefix+"-Name", "https://upper.example/", "", true)
		target(t, s, prefix+"-name", "", false)
		create(t, s, prefix+"-name", "https://lower.example/", "", true)
		target(t, s, prefix+"-Name", "https://upper.example/", true)
		target(t, s, prefix+"-Name' OR '1'='1", "", false)
		target(t, s, prefix+"-%", "", false)
	})
	t.Run("LongTargets", func(t *testing.T) {
		s, long := open(t), "https://a.example/"+strings.Repeat("ü", (links.MaxTarget-18)/2)
		create(t, s, prefix+"-"+strings.Repeat("x", links.MaxShort-len(prefix)-1), long, "", true)
		target(t, s, prefix+"-"+strings.Repeat("x", links.MaxShort-len(prefix)-1), long, true)
	})
	t.Run("OneOfManyWins", func(t *testing.T) { oneWins(t, open(t), prefix+"-race") })
	t.Run("AnEndedContextIsAnError", func(t *testing.T) {
		s := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := s.Create(ctx, prefix+"-cancelled", "https://a.example/", at); err == nil {
			t.Error("Create: no error")
		}
		if _, _, err := s.Target(ctx, prefix+"-cancelled"); err == nil {
			t.Error("Target: no error")
		}
	})
}

// oneWins creates the same link concurrently: one call succeeds, and all others get its target.
func oneWins(t *testing.T, s links.Store, short string) {
	var group sync.WaitGroup
	var winners atomic.Int64
	said := make([]string, 10)
	for i := range said {
		group.Go(func() {
			own := "https://a.example/" + strconv.Itoa(i)
			existing, created, err := s.Create(t.Context(), short, own, time.Now())
			if err != nil {
				t.Error(err)
				return
			}
			if said[i] = existing; created {
				said[i] = own
				winners.Add(1)
			}
		})
	}
	group.Wait()
	for i := range said {
		if said[i] != said[0] {
			t.Errorf("some were told %q, some %q", said[0], said[i])
		}
	}
	if long, found, err := s.Target(t.Context(), short); err != nil || !found || long != said[0] || winners.Load() != 1 {
		t.Errorf("%d winners, stored %q, %v, %v; told %q", winners.Load(), long, found, err, said[0])
	}
}
