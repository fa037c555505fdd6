package intake

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// TestPlacesGoRound: nobody has more than its share, and who waits gets what is given back, in the order of coming, past
// those who have their share.
func TestPlacesGoRound(t *testing.T) {
	const patient = time.Minute
	client := func(n byte) netip.Prefix { return networkOf(netip.AddrFrom4([4]byte{203, 0, 113, n})) }
	p := newPlaces(3, 2, 10, patient)
	for range 2 {
		if !p.take(client(1)) {
			t.Fatal("no place where there is one")
		}
	}
	got := make(chan string, 10)
	wait := func(n byte, name string) {
		before := p.waits()
		go func() {
			if p.take(client(n)) {
				got <- name
			}
		}()
		for p.waits() == before { // so that the order is known
			time.Sleep(time.Millisecond)
		}
	}
	wait(1, "one too many of the first")
	if !p.take(client(2)) {
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
	if p.inUse() != 3 || p.waits() != 0 {
		t.Errorf("%d taken, %d waiting", p.inUse(), p.waits())
	}
}

func (p *places) waits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.Len()
}

// TestPlacesEndInOrder: whatever many do at once, never more than the most, and all is given back.
func TestPlacesEndInOrder(t *testing.T) {
	p := newPlaces(4, 2, 8, time.Millisecond)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			client := networkOf(netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%d::1", i%5)))
			for range 200 {
				if p.take(client) {
					if n := p.inUse(); n > 4 {
						t.Errorf("%d of 4 places are taken", n)
					}
					p.give(client)
				}
			}
		})
	}
	all.Wait()
	if p.inUse() != 0 || len(p.by) != 0 || p.waits() != 0 {
		t.Errorf("%d taken by %v, %d waiting", p.inUse(), p.by, p.waits())
	}
}
