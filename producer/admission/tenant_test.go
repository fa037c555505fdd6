package admission

import (
	"testing"
	"time"
)

// TestALoneTenantHasAll: the only tenant gets all slots.
func TestALoneTenantHasAll(t *testing.T) {
	c, now := NewSoleTenant(), time.Unix(1_000_000, 0)
	p := NewSemaphore(2, 2, 4, 15, time.Minute)
	p.sole = func(of Tenant) bool { return c.Is(of, now) }
	one, other := Tenant{Grant: "one"}, Tenant{Grant: "other"}
	had := func() (n int) {
		for p.takeSlot(one) {
			n++
		}
		return n
	}
	leave := func(n int) {
		for range n {
			p.Release(one)
		}
	}
	f := func(what string, want int) {
		t.Helper()
		n := had()
		if n != want {
			t.Errorf("%s: %d of 4 slots, want %d", what, n, want)
		}
		leave(n)
	}
	c.Note(one, now)
	f("just come", 2)
	now = now.Add(soleAfter)
	c.Note(one, now)
	f("alone", 4)
	c.Note(other, now)
	f("beside another", 2)
	c.Note(one, now)
	now = now.Add(soleAfter - 1)
	c.Note(one, now)
	f("shortly after another", 2)
	now = now.Add(1)
	f("alone again", 4)
}

// TestWaitersOfALoneTenant: when a tenant has become the only one, its waiters get all free slots at the next release, not just one.
func TestWaitersOfALoneTenant(t *testing.T) {
	p := NewSemaphore(2, 2, 4, 15, time.Minute)
	alone := false
	p.sole = func(Tenant) bool { return alone }
	one := Tenant{Grant: "one"}
	for range 2 {
		if !p.Acquire(t.Context(), one) {
			t.Fatal("no slot where there is one")
		}
	}
	got := make(chan bool, 5)
	for range 5 {
		go func() { got <- p.Acquire(t.Context(), one) }()
	}
	for p.Waiting() < 5 {
		time.Sleep(time.Millisecond)
	}
	p.mu.Lock()
	alone = true
	p.mu.Unlock()
	p.Release(one)
	for range 3 {
		if !<-got {
			t.Error("one who waited got no slot")
		}
	}
	if p.InUse() != 4 || p.Waiting() != 2 {
		t.Errorf("%d of 4 slots are taken, and %d wait", p.InUse(), p.Waiting())
	}
	p.Release(one)
	p.Release(one)
	<-got
	<-got
}
