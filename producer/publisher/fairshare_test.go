package publisher

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/internal/fair"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// TestSlotsAreShared: one tenant may have all slots while no other wants any. When another does, it gets some, at most as many as the
// first, and the first gets no more.
func TestSlotsAreShared(t *testing.T) {
	cluster, p := openTest(t, 1, func(o *Options) { o.Slots = 100 })
	release := held(cluster)
	defer release()
	results := make(chan []error, 100)
	taken := func(of string, events int) int {
		t.Helper()
		before := p.slotsUsed()
		go func() {
			results <- p.Publish(t.Context(), admission.Tenant{Grant: of}, testTopic, spreadClicks(events))
		}()
		now, deadline := before, time.Now().Add(200*time.Millisecond)
		for now-before < events && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
			now = p.slotsUsed()
		}
		return now - before
	}
	f := func(of string, events, want int) {
		t.Helper()
		if got := taken(of, events); got != want {
			t.Errorf("%s got %d of %d slots, want %d", of, got, events, want)
		}
	}
	f("hostile", 150, 100)
	f("hostile", 1, 0)
	f("good", 1, 1)
	f("good", 100, 24) // 25 of the 50 that are kept: the others are for the next
	f("hostile", 1, 0)
	f("better", 1, 1)
	for i := range 5 {
		f(fmt.Sprint("another ", i), 1, 1)
	}
	release()
	p.inFlight(t, 0)
	allTaken(t, p.Publish(t.Context(), admission.Tenant{Grant: "good"}, testTopic, spreadClicks(100)))
}

func (p *Publisher) slotsUsed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slots.Used()
}

// TestAGrantLeavesTheWindow: a key may not fill a partition, in which others' ids would be forgotten. Other partitions, other keys, and
// senders without a key do not wait.
func TestAGrantLeavesTheWindow(t *testing.T) {
	_, p := openTest(t, 1, func(o *Options) { o.Grant = fair.NewShared(0.001, 10) })
	f := func(grant string, events, want int) {
		t.Helper()
		if taken := p.sentBy(t, admission.Tenant{Grant: grant}, events); taken != want {
			t.Errorf("%q sent %d of %d events, want %d", grant, taken, events, want)
		}
	}
	f("hostile", 15, 10)
	f("hostile", 1, 0)
	f("good", 10, 10)
	f("", 50, 50)
}

// sentBy publishes events of one visitor, and returns how many a tenant's limit let through.
func (p *Publisher) sentBy(t *testing.T, of admission.Tenant, events int) (taken int) {
	t.Helper()
	for _, err := range p.Publish(t.Context(), of, testTopic, clicksOf("visitor", slices.Repeat([]string{"id"}, events)...)) {
		switch reasonOf(err) {
		case "":
			taken++
		case answer.RateLimited:
		default:
			t.Error(err)
		}
	}
	return taken
}

// TestOthersDoNotUseUpAPagesPartition: everybody has the key of a page. Whoever sends much with it to one partition takes what is common,
// and not what each client and network has for itself.
func TestOthersDoNotUseUpAPagesPartition(t *testing.T) {
	_, p := openTest(t, 1, func(o *Options) { o.Grant = fair.NewShared(0.001, 2000) }) // 10 for each client
	f := func(ip string, events, want int) {
		t.Helper()
		of := admission.Tenant{Grant: "page", Page: true, Network: fair.Client(netip.MustParseAddr(ip))}
		if taken := p.sentBy(t, of, events); taken != want {
			t.Errorf("%s sent %d of %d events, want %d", ip, taken, events, want)
		}
	}
	f("203.0.113.1", 2500, 10+2000)
	f("203.0.113.1", 1, 0)
	f("198.51.100.1", 15, 10)
	for i := range 63 {
		f(fmt.Sprintf("203.0.113.%d", 2+i), 10, 10)
	}
	f("203.0.113.100", 1, 0) // its /24 has 64 times as much as a client
}

// TestWhatIsOverloadedIsNotCharged: an event that gets no slot takes nothing of what its key may send to the partition.
func TestWhatIsOverloadedIsNotCharged(t *testing.T) {
	cluster, p := openTest(t, 1, func(o *Options) { o.Slots, o.Grant = 4, fair.NewShared(0.001, 10) })
	release := held(cluster)
	defer release()
	of := admission.Tenant{Grant: "g"}
	waiting := p.Submit(of, testTopic, clicksOf("visitor", slices.Repeat([]string{"id"}, 4)...))
	for range 20 {
		if err := p.Publish(t.Context(), of, testTopic, clicksOf("visitor", "more"))[0]; reasonOf(err) != answer.Overloaded {
			t.Fatal(err)
		}
	}
	release()
	allTaken(t, p.Await(t.Context(), waiting))
	for range 6 {
		allTaken(t, p.Publish(t.Context(), of, testTopic, clicksOf("visitor", "again")))
	}
	if p.sentBy(t, of, 1) != 0 {
		t.Error("the limit does not hold")
	}
}

// TestLargeEventsTakeMoreSlots: slots bound memory, and an event may be a hundred times as large as most.
func TestLargeEventsTakeMoreSlots(t *testing.T) {
	cluster, p := openTest(t, 1, func(o *Options) { o.Slots = 10 })
	release := held(cluster)
	defer release()
	events := spreadClicks(10)
	for _, e := range events {
		c := e.(*models.Click)
		c.Referrer, c.UA = strings.Repeat("\x01", models.MaxReferrer), strings.Repeat("\x01", models.MaxUA) // each letter takes six in JSON
	}
	overloaded := make(chan int, 1)
	go func() {
		refused := slices.DeleteFunc(p.Publish(t.Context(), admission.Tenant{}, testTopic, events), func(err error) bool {
			var why *answer.Refusal
			return !errors.As(err, &why) || why.Reason != answer.Overloaded
		})
		overloaded <- len(refused)
	}()
	p.inFlight(t, 3*4)
	release()
	if n := <-overloaded; n != 7 {
		t.Errorf("%d of ten events of 12 KB were refused for ten slots of 4 KB, want 7", n)
	}
	p.inFlight(t, 0)
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(10)))
}
