package intake

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"footfall/producer/admission"
)

// TestPlacesGoRound: nobody has more than its share, and who waits gets what is given back, in the order of coming, past
// those who have their share.
func TestPlacesGoRound(t *testing.T) {
	const patient = time.Minute
	client := func(n byte) admission.Tenant {
		return admission.Tenant{Network: admission.NetworkOf(netip.AddrFrom4([4]byte{203, 0, 113, n}))}
	}
	p := newPlaces(3, 2, 10, 10, patient)
	for range 2 {
		if !p.take(t.Context(), client(1)) {
			t.Fatal("no place where there is one")
		}
	}
	got := make(chan string, 10)
	wait := func(n byte, name string) {
		before := p.waits()
		go func() {
			if p.take(t.Context(), client(n)) {
				got <- name
			}
		}()
		for p.waits() == before { // so that the order is known
			time.Sleep(time.Millisecond)
		}
	}
	wait(1, "one too many of the first")
	if !p.take(t.Context(), client(2)) {
		t.Fatal("the first client's waiting keeps the second out")
	}
	wait(2, "another of the second")
	wait(3, "the third's")
	p.give(client(2))
	if name := <-got; name != "another of the second" {
		t.Errorf("got a place: %s", name)
	}
	p.give(client(1))
	if name := <-got; name != "one too many of the first" {
		t.Errorf("got a place: %s", name)
	}
	p.give(client(1))
	if name := <-got; name != "the third's" {
		t.Errorf("got a place: %s", name)
	}
	if p.inUse() != 3 || p.waits() != 0 || p.by[client(1)] != 1 || p.by[client(2)] != 1 || p.by[client(3)] != 1 {
		t.Errorf("%d taken by %v, %d waiting", p.inUse(), p.by, p.waits())
	}
}

// TestNobodyFillsTheLine: one client that has its share waits in a few places of the line only, and whoever is gone in none.
func TestNobodyFillsTheLine(t *testing.T) {
	one, other := admission.Tenant{Network: admission.NetworkOf(netip.MustParseAddr("203.0.113.1"))}, admission.Tenant{Network: admission.NetworkOf(netip.MustParseAddr("203.0.113.2"))}
	p := newPlaces(2, 1, 100, 3, time.Minute)
	if !p.take(t.Context(), one) || !p.take(t.Context(), other) {
		t.Fatal("no place where there is one")
	}
	gone, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	refused := make(chan bool, 100)
	for range 100 {
		go func() { refused <- !p.take(gone, one) }()
	}
	for range 97 {
		if !<-refused {
			t.Fatal("a client has more than its share")
		}
	}
	got := make(chan bool, 1)
	go func() { got <- p.take(t.Context(), other) }()
	for p.waits() < 4 {
		time.Sleep(time.Millisecond)
	}
	p.give(other)
	if !<-got {
		t.Error("another client cannot wait")
	}
	hangUp()
	for range 3 {
		if !<-refused {
			t.Error("whoever is gone got a place")
		}
	}
	if p.waits() != 0 || len(p.inLine) != 0 {
		t.Errorf("%d waiting, %v", p.waits(), p.inLine)
	}
}

func (p *places) waits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.Len()
}

// TestPlacesEndInOrder: whatever many do at once, never more than the most, and all is given back.
func TestPlacesEndInOrder(t *testing.T) {
	p := newPlaces(4, 2, 8, 3, time.Millisecond)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			client := admission.Tenant{Grant: "grant", Network: admission.NetworkOf(netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%d::1", i%5)))}
			for range 200 {
				if p.take(t.Context(), client) {
					if n := p.inUse(); n > 4 {
						t.Errorf("%d of 4 places are taken", n)
					}
					p.give(client)
				}
			}
		})
	}
	all.Wait()
	if p.inUse() != 0 || len(p.by) != 0 || p.waits() != 0 || len(p.inLine) != 0 {
		t.Errorf("%d taken by %v, %d waiting", p.inUse(), p.by, p.waits())
	}
}

// TestAKeyLeavesHalf: however many addresses the holder of a key has, it has half of the places at the most.
func TestAKeyLeavesHalf(t *testing.T) {
	p := newPlaces(8, 2, 0, 0, time.Millisecond)
	of := func(grant string, n byte) admission.Tenant {
		return admission.Tenant{Grant: grant, Network: admission.NetworkOf(netip.AddrFrom4([4]byte{203, 0, 113, n}))}
	}
	had := 0
	for n := range byte(8) {
		if p.take(t.Context(), of("hostile", n)) {
			had++
		}
	}
	if had != 4 || !p.take(t.Context(), of("good", 0)) {
		t.Errorf("a key with eight addresses has %d of 8 places", had)
	}
	for n := range byte(4) {
		p.give(of("hostile", n))
	}
	p.give(of("good", 0))
	if p.inUse() != 0 || len(p.by) != 0 {
		t.Errorf("%d taken by %v", p.inUse(), p.by)
	}
}

// TestAWideNetworkLeavesHalf: at an open door whoever has an IPv6 /48 has 65,536 of its /64, and half of the places and of the line.
func TestAWideNetworkLeavesHalf(t *testing.T) {
	p := newPlaces(8, 2, 4, 4, time.Minute)
	of := func(network string, n int) admission.Tenant {
		return admission.Tenant{Network: admission.NetworkOf(netip.MustParseAddr(fmt.Sprintf("%s:%x::1", network, n)))}
	}
	gone, hangUp := context.WithCancel(t.Context())
	refused := make(chan bool, 8)
	for n := range 8 {
		go func() { refused <- !p.take(gone, of("2001:db8:1", n)) }()
	}
	for range 6 {
		<-refused
	}
	if p.inUse() != 4 || p.waits() != 2 || !p.take(t.Context(), of("2001:db8:2", 0)) {
		t.Errorf("eight networks of a /48 have %d of 8 places, and %d of 4 in the line", p.inUse(), p.waits())
	}
	hangUp()
	for range 2 {
		<-refused
	}
	if len(p.inLine) != 0 {
		t.Errorf("nobody waits, but %v", p.inLine)
	}
}
