package intake

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/models"
)

// TestWaitingEventsShareARequest: what comes while a request is under way goes with the next, for all partitions.
func TestWaitingEventsShareARequest(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	requests := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Observe: true, Count: -1})
	release := held(cluster)
	defer release()
	var senders sync.WaitGroup
	for i, event := range spreadClicks(101) {
		senders.Go(func() { allTaken(t, p.publish(t.Context(), testTopic, []models.Event{event})) })
		p.inFlight(t, i+1) // the first is under way by itself
	}
	release()
	senders.Wait()
	if got := requests.Hits(); got != 2 {
		t.Errorf("101 events took %d requests, want 2", got)
	}
	total := 0
	for n := range testPartitions {
		total += len(written(t, cluster, n))
	}
	if total != 101 {
		t.Errorf("%d events are in Kafka, want 101", total)
	}
}

// TestLeadersMove while events are written: the writers do not notice.
func TestLeadersMove(t *testing.T) {
	cluster, p := openTest(t, 3, nil)
	stop := make(chan struct{})
	var senders sync.WaitGroup
	var mu sync.Mutex
	accepted := map[string]bool{}
	for s := range 8 {
		senders.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprint(s, "-", i)
				allTaken(t, p.publish(t.Context(), testTopic, clicksOf(fmt.Sprint("v", s, i%20), id)))
				mu.Lock()
				accepted[id] = true
				mu.Unlock()
			}
		})
	}
	for round := range int32(3) {
		for n := range int32(testPartitions) { // in other company each time
			if err := cluster.MoveTopicPartition(testTopic, n, (n/(round+1)+round)%3); err != nil {
				t.Fatal(err)
			}
		}
		mu.Lock()
		far := len(accepted)
		mu.Unlock()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			mu.Lock()
			now := len(accepted)
			mu.Unlock()
			known := p.knowsLeaders(cluster)
			if now >= far+200 && known {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d events in 20 s after the leaders moved; they are known: %v", now-far, known)
			}
		}
	}
	close(stop)
	senders.Wait()
	in := map[string]int{}
	for n := range testPartitions {
		for _, id := range written(t, cluster, n) {
			in[id]++
		}
	}
	for id := range accepted {
		if in[id] != 1 { // a leader that is none has not written anything
			t.Errorf("%s was acknowledged and is %d times in Kafka", id, in[id])
		}
	}
}

// knowsLeaders tells whether partitions that have the same leader share their requests.
func (p *publisher) knowsLeaders(c *kfake.Cluster) bool {
	leaders := c.PartitionInfos(testTopic)
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, one := range p.lanes[testTopic] {
		for b, other := range p.lanes[testTopic] {
			if (one.leader == other.leader) != (leaders[a].Leader == leaders[b].Leader) {
				return false
			}
		}
	}
	return true
}

// TestBrokersAreIndependent: one that does not answer holds up its own partitions and no others.
func TestBrokersAreIndependent(t *testing.T) {
	cluster, p := openTest(t, 2, nil)
	for n := range int32(testPartitions) {
		if err := cluster.MoveTopicPartition(testTopic, n, n%2); err != nil {
			t.Fatal(err)
		}
	}
	allTaken(t, p.publish(t.Context(), testTopic, spreadClicks(60))) // now the leaders are known
	release := held(cluster, 1)
	defer release()
	events := spreadClicks(60)
	led := func(n int32) (of []models.Event) {
		for _, e := range events {
			if int32(p.partitionOf(e))%2 == n {
				of = append(of, e)
			}
		}
		return of
	}
	waiting := make(chan []error, 1)
	go func() { waiting <- p.publish(t.Context(), testTopic, led(1)) }()
	p.inFlight(t, len(led(1)))
	for range 5 {
		allTaken(t, p.publish(t.Context(), testTopic, led(0)))
	}
	select {
	case outcomes := <-waiting:
		t.Errorf("the broker that does not answer has answered: %v", outcomes[0])
	default:
	}
	release()
	allTaken(t, <-waiting)
}
