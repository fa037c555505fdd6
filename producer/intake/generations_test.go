package intake_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/models"
)

// generations: a topic is sealed while events come in, twice. Every event is answered with 202 and is in one generation, in the
// partition that its key belongs to there.
func generations(t *testing.T, b broker) {
	d := startServer(t, b, nil)
	base := d.topics.Visits
	stop, senders := make(chan struct{}), sync.WaitGroup{}
	var sent atomic.Int64
	for range 4 {
		senders.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := sent.Add(3)
				body := fmt.Sprintf(`[{"siteId":"s","guid":"g%d","id":"i%d"},{"siteId":"s","guid":"g%d","id":"i%d"},{"siteId":"s","guid":"g%d","id":"i%d"}]`,
					n%50, n-3, n%71, n-2, n%31, n-1)
				if r, err := d.try(http.MethodPost, "/v1/visits", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(body)); err != nil || r.status != http.StatusAccepted {
					t.Errorf("while the topic is sealed: %d %s, %v", r.status, r.raw, err)
					return
				}
			}
		})
	}
	progress := func() {
		from := sent.Load()
		eventually(t, "the producer takes events", 30*time.Second, func() bool { return sent.Load() > from+300 || t.Failed() })
	}
	told := func() int {
		return strings.Count(d.log.String(), `"the topic is sealed: events go to its next generation"`)
	}
	grow := func(n, partitions int) { // a broker may take a moment to know of the seal
		growTopic(t, b, base, n, partitions)
		eventually(t, "the producer learns of the seal", 30*time.Second, func() bool { return told() == n-1 || t.Failed() })
	}
	progress()
	grow(2, 5)
	progress()
	grow(3, 7)
	progress()
	close(stop)
	senders.Wait()

	seen := map[string]string{}
	for n, partitions := range map[int]int{1: 6, 2: 5, 3: 7} {
		topic := models.GenerationTopic(base, n)
		list := messages(t, b.Addr(), topic)
		if len(list) == 0 {
			t.Errorf("nothing was written to %s", topic)
		}
		var all []int
		for i := range partitions {
			all = append(all, i)
		}
		for _, m := range list {
			if want := (kafka.Murmur2Balancer{Consistent: true}).Balance(m, all...); want != m.Partition {
				t.Fatalf("%s: key %s is in partition %d, want %d", topic, m.Key, m.Partition, want)
			}
			v, err := models.DefaultPlan().DecodeVisit(m.Value)
			must(t, err)
			if before := seen[v.EventID()]; before != "" {
				t.Errorf("event %s is in %s and in %s", v.EventID(), before, topic)
			}
			seen[v.EventID()] = topic
		}
	}
	if int64(len(seen)) != sent.Load() {
		t.Errorf("%d events are in Kafka, %d were sent", len(seen), sent.Load())
	}
	if r := d.ask(t, http.MethodGet, "/readyz"); r.status != http.StatusOK {
		t.Errorf("the producer is not ready: %s", r.raw)
	}
	if n := told(); n != 2 {
		t.Errorf("the log tells of %d new generations, want 2:\n%s", n, d.log.String())
	}
	newProducerOnAGrownTopic(t, b, d)
}

// newProducerOnAGrownTopic: a producer that starts later writes to the newest generation and does not create a deleted first one again.
func newProducerOnAGrownTopic(t *testing.T, b broker, old *runningServer) {
	t.Helper()
	old.close(t)
	deleteTopics(t, b, old.topics.Visits)
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.Kafka.Topics = old.topics })
	newest := models.GenerationTopic(old.topics.Visits, 3)
	before := len(messages(t, b.Addr(), newest))
	if r := d.post(t, "/v1/visits", jsonType, `{"siteId":"s","guid":"g"}`); r.status != http.StatusAccepted {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	if got := len(messages(t, b.Addr(), newest)); got != before+1 {
		t.Errorf("%s has %d events, want %d", newest, got, before+1)
	}
	if names(t, b)[old.topics.Visits] {
		t.Error("the deleted first generation was made again")
	}
}

// TestBothTopicsGrowAtOnce: switching one topic to its next generation does not undo the switch of the other.
func TestBothTopicsGrowAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	for range 10 { // the two switches do not always coincide
		b := startFake(t)
		d := startServer(t, b, nil)
		growTopic(t, b, d.topics.Visits, 2, 5)
		growTopic(t, b, d.topics.Clicks, 2, 7)
		var senders sync.WaitGroup
		for path, body := range map[string]string{"/v1/visits": `{"siteId":"s","guid":"g"}`, "/v1/clicks": `{"short_url":"abc","ip":"192.0.2.1"}`} {
			senders.Go(func() {
				if r := d.post(t, path, jsonType, body); r.status != http.StatusAccepted {
					t.Errorf("%s: %d %s", path, r.status, r.raw)
				}
			})
		}
		senders.Wait()
		if t.Failed() {
			return
		}
	}
}

// growTopic makes the nth generation of a topic and seals the one before, as `consumer grow` does.
func growTopic(t *testing.T, b broker, base string, n, partitions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(b.Addr())}
	next, old := models.GenerationTopic(base, n), models.GenerationTopic(base, n-1)
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: next, NumPartitions: partitions, ReplicationFactor: 1}}})
	must(t, err)
	must(t, made.Errors[next])
	if s, ok := b.(shared); ok {
		t.Cleanup(func() { deleteTopics(t, s, next) })
	}
	sealed, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: old,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "max.message.bytes", Value: "1", ConfigOperation: kafka.ConfigOperationSet}},
	}}})
	must(t, err)
	must(t, sealed.Resources[0].Error)
}

func deleteTopics(t *testing.T, b broker, topics ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	response, err := (&kafka.Client{Addr: kafka.TCP(b.Addr())}).DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: topics})
	must(t, err)
	for _, err := range response.Errors {
		must(t, err)
	}
}

func names(t *testing.T, b broker) map[string]bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&kafka.Client{Addr: kafka.TCP(b.Addr()), Transport: transport}).Metadata(ctx, &kafka.MetadataRequest{})
	must(t, err)
	out := map[string]bool{}
	for _, topic := range response.Topics {
		out[topic.Name] = true
	}
	return out
}
