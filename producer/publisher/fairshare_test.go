package publisher

import (
	"errors"
	"fmt"
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
	_, p := openTest(t, 1, func(o *Options) { o.Grant = fair.NewBudget(0.001, 10) })
	f := func(grant, visitor string, events, want int) {
		t.Helper()
		ids := make([]string, events)
		for i := range ids {
			ids[i] = fmt.Sprint(grant, visitor, i)
		}
		taken := 0
		for _, err := range p.Publish(t.Context(), admission.Tenant{Grant: grant}, testTopic, clicksOf(visitor, ids...)) {
			switch reasonOf(err) {
			case "":
				taken++
			case answer.RateLimited:
			default:
				t.Error(err)
			}
		}
		if taken != want {
			t.Errorf("%q sent %d of %d events of %s, want %d", grant, taken, events, visitor, want)
		}
	}
	f("hostile", "a", 15, 10)
	f("hostile", "a", 1, 0)
	f("good", "a", 10, 10)
	f("", "a", 50, 50)
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
