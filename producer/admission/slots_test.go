package admission

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"footfall/internal/fair"
)

// TestSlotsGoRound: no client has more than its share. A released slot goes to the first waiter that is below its share.
func TestSlotsGoRound(t *testing.T) {
	const patient = time.Minute
	client := func(n byte) Tenant {
		return Tenant{Network: fair.Client(netip.AddrFrom4([4]byte{203, 0, 113, n}))}
	}
	p := NewSemaphore(3, 0, 2, 15, patient)
	for range 2 {
		if !p.Acquire(t.Context(), client(1)) {
			t.Fatal("no slot where there is one")
		}
	}
	got := make(chan string, 10)
	wait := func(n byte, name string) {
		before := p.Waiting()
		go func() {
			if p.Acquire(t.Context(), client(n)) {
				got <- name
			}
		}()
		for p.Waiting() == before { // so that the order is known
			time.Sleep(time.Millisecond)
		}
	}
	wait(1, "one too many of the first")
	if !p.Acquire(t.Context(), client(2)) {
		t.Fatal("the first client's waiting keeps the second out")
	}
	wait(2, "another of the second")
	wait(3, "the third's")
	p.Release(client(2))
	if name := <-got; name != "another of the second" {
		t.Errorf("got a slot: %s", name)
	}
	p.Release(client(1))
	if name := <-got; name != "one too many of the first" {
		t.Errorf("got a slot: %s", name)
	}
	p.Release(client(1))
	if name := <-got; name != "the third's" {
		t.Errorf("got a slot: %s", name)
	}
	if p.InUse() != 3 || p.Waiting() != 0 || p.held[client(1)] != 1 || p.held[client(2)] != 1 || p.held[client(3)] != 1 {
		t.Errorf("%d taken by %v, %d waiting", p.InUse(), p.held, p.Waiting())
	}
}

// TestNobodyFillsTheQueue: a client that has its share leaves places of the queue to others, and a client that has given up takes none.
func TestNobodyFillsTheQueue(t *testing.T) {
	one, other := Tenant{Network: fair.Client(netip.MustParseAddr("203.0.113.1"))}, Tenant{Network: fair.Client(netip.MustParseAddr("203.0.113.2"))}
	p := NewSemaphore(2, 0, 1, 100, time.Minute)
	if !p.Acquire(t.Context(), one) || !p.Acquire(t.Context(), other) {
		t.Fatal("no slot where there is one")
	}
	gone, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	refused := make(chan bool, 100)
	for range 100 {
		go func() { refused <- !p.Acquire(gone, one) }()
	}
	for range 33 {
		if !<-refused {
			t.Fatal("a client has more than its share")
		}
	}
	got := make(chan bool, 1)
	go func() { got <- p.Acquire(t.Context(), other) }()
	for p.Waiting() < 68 {
		time.Sleep(time.Millisecond)
	}
	p.Release(other)
	if !<-got {
		t.Error("another client cannot wait")
	}
	hangUp()
	for range 67 {
		if !<-refused {
			t.Error("whoever is gone got a slot")
		}
	}
	if p.Waiting() != 0 {
		t.Errorf("%d waiting", p.Waiting())
	}
}

// TestSlotsEndInOrder: with many concurrent callers never more slots are held than there are, and all are released in the end.
func TestSlotsEndInOrder(t *testing.T) {
	p := NewSemaphore(3, 1, 2, 8, time.Millisecond)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			client := Tenant{Grant: "grant", Network: fair.Client(netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%d::1", i%5)))}
			for range 200 {
				if p.Acquire(t.Context(), client) {
					if n := p.InUse(); n > 4 {
						t.Errorf("%d of 4 slots are taken", n)
					}
					p.Release(client)
				}
			}
		})
	}
	all.Wait()
	if p.InUse() != 0 || len(p.held) != 0 || p.Waiting() != 0 {
		t.Errorf("%d taken by %v, %d waiting", p.InUse(), p.held, p.Waiting())
	}
}

// TestAnAccountLeavesRoom: a key, however many addresses its holder has, leaves slots and places in the queue for others. So does an
// IPv6 /48 with its 65,536 /64 networks, where anyone may write.
func TestAnAccountLeavesRoom(t *testing.T) {
	f := func(of func(n int) Tenant, other Tenant) {
		t.Helper()
		p := NewSemaphore(6, 2, 2, 6, time.Minute)
		gone, hangUp := context.WithCancel(t.Context())
		refused := make(chan bool, 12)
		for n := range 12 {
			go func() { refused <- !p.Acquire(gone, of(n)) }()
		}
		for range 8 { // six have a slot, four of six places in the queue are taken, and two are refused
			<-refused
		}
		if p.InUse() != 6 || p.Waiting() != 4 || !p.Acquire(t.Context(), other) {
			t.Errorf("twelve clients of one account have %d of 8 slots, and %d of 6 in the queue", p.InUse(), p.Waiting())
		}
		hangUp()
		for range 4 {
			<-refused
		}
		for range 4 { // as if four waited again
			if !p.queue.Take(of(0).Account(), 1) {
				t.Error("nobody waits, but places are taken")
			}
		}
	}
	f(func(n int) Tenant {
		return Tenant{Grant: "hostile", Network: fair.Client(netip.AddrFrom4([4]byte{203, 0, 113, byte(n)}))}
	}, Tenant{Grant: "good"})
	of := func(network string, n int) Tenant {
		return Tenant{Network: fair.Client(netip.MustParseAddr(fmt.Sprintf("%s:%x::1", network, n)))}
	}
	f(func(n int) Tenant { return of("2001:db8:1", n) }, of("2001:db8:2", 0))
}
