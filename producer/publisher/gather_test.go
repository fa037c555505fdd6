package publisher

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/producer/admission"
)

// answeredWithOneWaiting has Kafka answer a request of one event while another one waits, so that two were under way. It returns how many
// requests there were so far, and the delivery of the event that waits.
func answeredWithOneWaiting(t *testing.T, cluster *kfake.Cluster, p *Publisher) (requests *kfake.FaultHandle, waits *Delivery) {
	t.Helper()
	requests = cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Observe: true, Count: -1})
	release := held(cluster)
	defer release()
	p.patience = time.Minute
	first := p.Submit(admission.Tenant{}, testTopic, spreadClicks(1))
	p.allSent(t)
	waits = p.Submit(admission.Tenant{}, testTopic, spreadClicks(1))
	release()
	allTaken(t, p.Await(t.Context(), first))
	return requests, waits
}

// allSent waits until senders have taken all that was ready.
func (p *Publisher) allSent(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		ready := len(p.ready)
		p.mu.Unlock()
		if ready == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d queues still wait to be sent", ready)
		}
	}
}

// gathers waits until a sender waits for further events, or fails if it did not wait: the event is written.
func (p *Publisher) gathers(t *testing.T, waits *Delivery) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		gathering := false
		for _, b := range p.brokers {
			gathering = gathering || b.gathering != nil
		}
		p.mu.Unlock()
		select {
		case <-waits.done:
			t.Fatal("an event was written without waiting for the next one")
		default:
		}
		if gathering {
			return
		}
	}
	t.Fatal("no sender waits for further events")
}

// TestEventsWaitForThoseExpected: where events come faster than Kafka answers, they share requests.
func TestEventsWaitForThoseExpected(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	p.linger = time.Minute
	requests, second := answeredWithOneWaiting(t, cluster, p)
	p.gathers(t, second)
	third := p.Submit(admission.Tenant{}, testTopic, spreadClicks(1))
	allTaken(t, p.Await(t.Context(), second))
	allTaken(t, p.Await(t.Context(), third))
	if got := requests.Hits(); got != 2 {
		t.Errorf("three events took %d requests, want 2: the last two share one", got)
	}
}

// TestEventsWaitNoLongerThanLinger: an event is sent, though those that were expected with it do not come.
func TestEventsWaitNoLongerThanLinger(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	p.linger = 200 * time.Millisecond
	_, second := answeredWithOneWaiting(t, cluster, p)
	answered := time.Now()
	allTaken(t, p.Await(t.Context(), second))
	if took := time.Since(answered); took > 20*time.Second {
		t.Errorf("it was written %v after the answer before", took)
	}
}

// TestALoneEventIsSentAtOnce: a sender that sends its events one after the other never waits for others.
func TestALoneEventIsSentAtOnce(t *testing.T) {
	_, p := openTest(t, 1, nil)
	p.linger = time.Minute
	began := time.Now()
	for range 10 {
		allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(1)))
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("ten events, one after the other, took %v", took)
	}
}

// TestPlentyWaitForNobody: however many were under way before, a request that many events share is sent at once.
func TestPlentyWaitForNobody(t *testing.T) {
	_, p := openTest(t, 1, nil)
	p.linger = time.Minute
	began := time.Now()
	for _, n := range []int{10 * plenty, plenty} {
		allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(n)))
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestClosingEndsTheWait: a publisher that is closed does not leave its senders waiting for further events.
func TestClosingEndsTheWait(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	p.linger = time.Minute
	_, second := answeredWithOneWaiting(t, cluster, p)
	p.gathers(t, second)
	var closing sync.WaitGroup
	closing.Go(p.Close)
	<-second.done
	closing.Wait()
	p.inFlight(t, 0)
}
