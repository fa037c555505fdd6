package publisher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/models"
	"footfall/producer/admission"
)

// TestWaitingEventsShareARequest: events that arrive while a request is in flight share the next one, for all partitions.
func TestWaitingEventsShareARequest(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	p.patience = time.Minute
	requests := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Observe: true, Count: -1})
	release := held(cluster)
	defer release()
	var senders sync.WaitGroup
	for i, event := range spreadClicks(101) {
		senders.Go(func() { allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, []models.Event{event})) })
		p.inFlight(t, i+1) // the first has a request of its own
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

// TestLeadersMove: leaders change while events are written, and every event succeeds.
func TestLeadersMove(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
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
				allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, clicksOf(fmt.Sprint("v", s, i%20), id)))
				mu.Lock()
				accepted[id] = true
				mu.Unlock()
			}
		})
	}
	for round := range int32(3) {
		for n := range int32(testPartitions) { // each time together with other partitions
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
		if in[id] != 1 { // a broker that is not the leader has written nothing
			t.Errorf("%s was acknowledged and is %d times in Kafka", id, in[id])
		}
	}
}

// knowsLeaders reports whether partitions with the same leader share requests.
func (p *Publisher) knowsLeaders(c *kfake.Cluster) bool {
	leaders := c.PartitionInfos(testTopic)
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, one := range p.queues[testTopic] {
		for b, other := range p.queues[testTopic] {
			if (one.leader == other.leader) != (leaders[a].Leader == leaders[b].Leader) {
				return false
			}
		}
	}
	return true
}

// TestSickPartition: a partition that waits for a replica delays those that share its request for half of kafka.timeout, and after that
// no others.
func TestSickPartition(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	const sick = 2
	cluster, p := openTest(t, 1, func(o *Options) { o.Timeout = 2 * time.Second })
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(60)))
	gate := make(chan struct{})
	defer close(gate)
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		for _, topic := range request.Topics {
			for _, one := range topic.Partitions {
				if one.Partition != sick {
					continue
				}
				cluster.SleepControl(func() { // like Kafka: all partitions of the request wait until its timeout
					select {
					case <-time.After(time.Duration(request.TimeoutMillis) * time.Millisecond):
					case <-gate:
					}
				})
				response := request.ResponseKind().(*kmsg.ProduceResponse)
				for _, topic := range request.Topics {
					answer := kmsg.NewProduceResponseTopic()
					answer.Topic, answer.TopicID = topic.Topic, topic.TopicID
					for _, one := range topic.Partitions {
						part := kmsg.NewProduceResponseTopicPartition()
						if part.Partition = one.Partition; one.Partition == sick {
							part.ErrorCode = kerr.RequestTimedOut.Code
						}
						answer.Partitions = append(answer.Partitions, part)
					}
					response.Topics = append(response.Topics, answer)
				}
				return response, nil, true
			}
		}
		return nil, nil, false
	})
	events := spreadClicks(60)
	ill := slices.IndexFunc(events, func(e models.Event) bool { return p.partitionOf(e) == sick })
	well := slices.IndexFunc(events, func(e models.Event) bool { return p.partitionOf(e) != sick })
	var senders sync.WaitGroup
	senders.Go(func() { p.Publish(t.Context(), admission.Tenant{}, testTopic, events[ill:ill+1]) })
	p.inFlight(t, 1)
	p.allSent(t) // or the next event would share its request
	began := time.Now()
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, events[well:well+1]))
	if took := time.Since(began); took > 800*time.Millisecond { // less than the second that the other's request takes
		t.Errorf("an event waited %v for the request of another partition", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var taken, slow atomic.Int64
	for _, event := range events {
		senders.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				err := p.Publish(t.Context(), admission.Tenant{}, testTopic, []models.Event{event})[0]
				switch in := p.partitionOf(event); {
				case in == sick && err == nil:
					t.Error("an event was acknowledged that its replicas do not have")
				case in != sick && err != nil:
					t.Errorf("an event of partition %d: %v", in, err)
				case in != sick:
					taken.Add(1)
					if time.Since(began) > 800*time.Millisecond {
						slow.Add(1)
					}
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	senders.Wait()
	if taken.Load() < 1000 || slow.Load() > 110 { // one for each sender, for the request that they shared with it, and some for a busy machine
		t.Errorf("%d events of other partitions in 6 s, %d of them took long", taken.Load(), slow.Load())
	}
}

// TestTopicGone: the partitions of a deleted topic do not delay others.
func TestTopicGone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	cluster, p := openTest(t, 1, func(o *Options) { o.Timeout = 2 * time.Second })
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(60)))
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(p.queues)), func(topic string) bool { return topic == testTopic })[0]
	client := &kafka.Client{Addr: kafka.TCP(cluster.ListenAddrs()...)}
	if _, err := client.DeleteTopics(t.Context(), &kafka.DeleteTopicsRequest{Topics: []string{gone}}); err != nil {
		t.Fatal(err)
	}
	for known := true; known; time.Sleep(10 * time.Millisecond) { // to the transport
		response, err := p.transport.Load().RoundTrip(t.Context(), p.addr, &metadata.Request{TopicNames: []string{gone}})
		if err != nil {
			t.Fatal(err)
		}
		known = len(response.(*metadata.Response).Topics[0].Partitions) > 0
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var senders sync.WaitGroup
	for s := range 200 {
		senders.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				visit := &models.Visit{V: models.Version, ID: "x", SiteID: "s", GUID: fmt.Sprint(s, i), TS: 1436968800000, Features: []string{"", ""}}
				if err := p.Publish(ctx, admission.Tenant{}, gone, []models.Event{visit})[0]; err == nil {
					t.Error("an event was acknowledged by a topic that is not there")
				}
			}
		})
	}
	n := 0
	for ; ctx.Err() == nil; n += 12 {
		allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(12)))
		time.Sleep(5 * time.Millisecond)
	}
	if n < 1000 {
		t.Errorf("%d events of the other topic in 3 s", n)
	}
	senders.Wait()
}

// TestBrokersAreIndependent: a broker that does not answer delays its own partitions only.
func TestBrokersAreIndependent(t *testing.T) {
	cluster, p := openTest(t, 2, nil)
	for n := range int32(testPartitions) {
		if err := cluster.MoveTopicPartition(testTopic, n, n%2); err != nil {
			t.Fatal(err)
		}
	}
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(60))) // now the leaders are known
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
	go func() { waiting <- p.Publish(t.Context(), admission.Tenant{}, testTopic, led(1)) }()
	p.inFlight(t, len(led(1)))
	for range 5 {
		allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, led(0)))
	}
	select {
	case outcomes := <-waiting:
		t.Errorf("the broker that does not answer has answered: %v", outcomes[0])
	default:
	}
	release()
	allTaken(t, <-waiting)
}
