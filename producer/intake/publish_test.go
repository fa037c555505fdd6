package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/dial"
)

const testTopic, testPartitions = "clicks", 6

// openTest makes a cluster with so many brokers, and a publisher that gives it a minute for each event.
func openTest(t *testing.T, brokers int, tweak func(*configs.Producer)) (*kfake.Cluster, *publisher) {
	t.Helper()
	t.Parallel()
	cfg, err := configs.LoadProducer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Kafka.Timeout = time.Minute
	if tweak != nil {
		tweak(&cfg)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(testPartitions, testTopic, cfg.Kafka.Topics.Visits))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	p, err := openPublisher(t.Context(), dial.Plain(cluster.ListenAddrs()...), cfg, newMetrics(prometheus.NewRegistry(), &places{}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return cluster, p
}

// clicksOf are clicks on one link: those of one visitor go to one partition, in their order.
func clicksOf(visitor string, ids ...string) (events []models.Event) {
	for _, id := range ids {
		events = append(events, &models.Click{V: models.Version, ID: id, ShortURL: "s", IP: visitor, TS: 1436968800000})
	}
	return events
}

// spreadClicks are of so many visitors.
func spreadClicks(n int) (events []models.Event) {
	for i := range n {
		events = append(events, clicksOf(fmt.Sprint("visitor", i), fmt.Sprint("id", i))...)
	}
	return events
}

func (p *publisher) partitionOf(event models.Event) int {
	return p.spread.Balance(kafka.Message{Topic: testTopic, Key: []byte(event.KafkaKey())})
}

// held keeps all writes to some brokers waiting until they are released.
func held(c *kfake.Cluster, nodes ...int32) (release func()) {
	gate := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if len(nodes) == 0 || slices.Contains(nodes, c.CurrentNode()) {
			c.SleepControl(func() { <-gate })
		}
		return nil, nil, false
	})
	return sync.OnceFunc(func() { close(gate) })
}

// written reads the ids of a partition, in order.
func written(t *testing.T, c *kfake.Cluster, partition int) (ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	end := c.PartitionInfo(testTopic, int32(partition)).HighWatermark
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: c.ListenAddrs(), Topic: testTopic, Partition: partition, MaxWait: 10 * time.Millisecond})
	defer func() { _ = r.Close() }()
	for offset := range end {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if m.Offset != offset {
			t.Errorf("a message at %d, want it at %d", m.Offset, offset)
		}
		var event struct{ ID string }
		if err := json.Unmarshal(m.Value, &event); err != nil {
			t.Fatalf("%q: %v", m.Value, err)
		}
		if age := time.Since(m.Time); age < -time.Minute || age > time.Minute {
			t.Errorf("%s was written at %v; Kafka deletes by that", event.ID, m.Time)
		}
		ids = append(ids, event.ID)
	}
	return ids
}

func allTaken(t *testing.T, outcomes []error) {
	t.Helper()
	for i, err := range outcomes {
		if err != nil {
			t.Errorf("event %d: %v (%v)", i, err, errors.Unwrap(err))
		}
	}
}

// inFlight waits until so many slots are in use.
func (p *publisher) inFlight(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		used := p.used
		p.mu.Unlock()
		if used == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d slots in use, want %d", used, want)
		}
	}
}

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

// TestPartitionFailsAlone: one that refuses fails at once and for itself.
func TestPartitionFailsAlone(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	const bad = 2
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: testTopic, Partitions: []int32{bad}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	events := spreadClicks(60)
	failed, began := 0, time.Now()
	for i, err := range p.publish(t.Context(), testTopic, events) {
		if inBad := p.partitionOf(events[i]) == bad; inBad != (err != nil) {
			t.Errorf("event %d of partition %d: %v", i, p.partitionOf(events[i]), err)
		} else if inBad {
			failed++
		}
	}
	if failed == 0 || failed == len(events) {
		t.Fatalf("%d events of %d were for partition %d: nothing is shown", failed, len(events), bad)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("a refusal took %v", took)
	}
	if got := written(t, cluster, bad); len(got) != 0 {
		t.Errorf("in the partition that refuses: %v", got)
	}
}

// TestOrderIsKept through errors that pass: what failed goes again before what came after it, and nothing else waits for it.
func TestOrderIsKept(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	bad := p.partitionOf(clicksOf("a", "1")[0])
	failing := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: testTopic, Partitions: []int32{int32(bad)}, Err: kerr.NotEnoughReplicas, Count: -1})
	want := []string{"1", "2", "3", "4", "5", "6"}
	var senders sync.WaitGroup
	for i, id := range want {
		senders.Go(func() { allTaken(t, p.publish(t.Context(), testTopic, clicksOf("a", id))) })
		p.inFlight(t, i+1)
	}
	other := "b"
	for p.partitionOf(clicksOf(other, "x")[0]) == bad {
		other += "b"
	}
	allTaken(t, p.publish(t.Context(), testTopic, clicksOf(other, "x"))) // while the others wait
	p.inFlight(t, len(want))
	if err := failing.Wait(t.Context(), failing.Hits()+1); err != nil { // once more, now that others wait behind the first
		t.Fatal(err)
	}
	failing.Remove()
	senders.Wait()
	if got := written(t, cluster, bad); !slices.Equal(got, want) {
		t.Errorf("in Kafka: %v, want %v", got, want)
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

// TestSlotsAreKept: what its sender gave up keeps its slot until it is written, and there are so many and no more.
func TestSlotsAreKept(t *testing.T) {
	cluster, p := openTest(t, 1, func(cfg *configs.Producer) { cfg.HTTP.MaxInFlight = 10 })
	release := held(cluster)
	defer release()
	count := func(outcomes []error) map[string]int {
		reasons := map[string]int{}
		for _, err := range outcomes {
			reasons[reason(err)]++
		}
		return reasons
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := count(p.publish(ctx, testTopic, spreadClicks(15))); got[kafkaUnavailable] != 10 || got[overloaded] != 5 {
		t.Errorf("15 events for 10 slots: %v", got)
	}
	if got := count(p.publish(t.Context(), testTopic, spreadClicks(3))); got[overloaded] != 3 {
		t.Errorf("when the slots are taken by events that were given up: %v", got)
	}
	release()
	p.inFlight(t, 0)
	allTaken(t, p.publish(t.Context(), testTopic, spreadClicks(10)))
	total := int64(0)
	for _, n := range cluster.PartitionInfos(testTopic) {
		total += n.HighWatermark
	}
	if total != 20 { // those that were given up are there too, those that were refused are not
		t.Errorf("%d events are in Kafka, want 20", total)
	}
}

// TestPublishEndsWithItsContext: a closing door does not wait for a Kafka that is away longer than it said.
func TestPublishEndsWithItsContext(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	allTaken(t, p.publish(t.Context(), testTopic, spreadClicks(1)))
	cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if got := reason(p.publish(ctx, testTopic, spreadClicks(1))[0]); got != kafkaUnavailable || time.Since(began) > 10*time.Second {
		t.Errorf("without Kafka: %q after %v", got, time.Since(began))
	}
}

// TestGivenUpInTime: an event that Kafka never takes is tried for as long as its sender waits, and then forgotten.
func TestGivenUpInTime(t *testing.T) {
	cluster, p := openTest(t, 1, func(cfg *configs.Producer) { cfg.Kafka.Timeout = time.Second })
	attempts := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: -1})
	began := time.Now()
	if got := reason(p.publish(t.Context(), testTopic, spreadClicks(1))[0]); got != kafkaUnavailable || time.Since(began) < 900*time.Millisecond {
		t.Errorf("%q after %v", got, time.Since(began))
	}
	p.inFlight(t, 0)
	if n := attempts.Hits(); n < 2 || n > 5 { // after pauses of 0.1, 0.4 and 0.9 s
		t.Errorf("it was tried %d times", n)
	}
}

// TestLargeGroupsAreSplit: what waits for one partition may be more than a broker takes in one piece.
func TestLargeGroupsAreSplit(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	release := held(cluster)
	defer release()
	var senders sync.WaitGroup
	sent := 0
	for i := range 4 {
		events := clicksOf("a", slices.Repeat([]string{"i"}, 500)...)
		for _, e := range events {
			e.(*models.Click).UA = strings.Repeat("u", models.MaxUA)
			e.(*models.Click).Referrer = strings.Repeat(string(rune('a'+i)), models.MaxReferrer)
		}
		sent += len(events)
		senders.Go(func() { allTaken(t, p.publish(t.Context(), testTopic, events)) })
		p.inFlight(t, sent)
	}
	release()
	senders.Wait()
	if got := written(t, cluster, p.partitionOf(clicksOf("a", "i")[0])); len(got) != sent {
		t.Errorf("%d events are in Kafka, want %d", len(got), sent)
	}
}

// TestBrokerThatTakesLittle: groups get smaller until they fit.
func TestBrokerThatTakesLittle(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	size := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: -1, When: func(r kmsg.Request) bool {
		return len(r.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records) > 5000
	}})
	events := clicksOf("a", slices.Repeat([]string{"i"}, 200)...)
	for attempt := 1; ; attempt++ {
		outcomes := p.publish(t.Context(), testTopic, events)
		if !slices.ContainsFunc(outcomes, func(err error) bool { return err != nil }) {
			break
		}
		if attempt == 5 {
			t.Fatalf("refused five times: %v", outcomes[0])
		}
	}
	if size.Hits() == 0 {
		t.Error("no group was too large: nothing is shown")
	}
}

// TestClosing ends with a Kafka that does not answer: in time, and everybody is told.
func TestClosing(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	release := held(cluster)
	defer release()
	waiting := make(chan []error, 1)
	go func() { waiting <- p.publish(t.Context(), testTopic, spreadClicks(20)) }()
	p.inFlight(t, 20)
	began := time.Now()
	p.close()
	if took := time.Since(began); took < farewell || took > farewell+5*time.Second {
		t.Errorf("closing took %v", took)
	}
	select {
	case outcomes := <-waiting:
		if reason(outcomes[0]) != kafkaUnavailable {
			t.Errorf("an event that was left behind: %v", outcomes[0])
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a sender still waits for a publisher that is closed")
	}
	p.inFlight(t, 0)
	if got := reason(p.publish(t.Context(), testTopic, spreadClicks(1))[0]); got != kafkaUnavailable {
		t.Errorf("after it was closed: %q", got)
	}
}
