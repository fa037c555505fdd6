package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/deployments/stack"
	"footfall/test/harness"
)

// otherThan is the places of all brokers but one.
func (s servers) otherThan(one int) (others []int) {
	for i := range s.brokers {
		if i != one {
			others = append(others, i)
		}
	}
	return others
}

// pauseBrokers pauses brokers, until resume or the end of the test.
func (s servers) pauseBrokers(t *testing.T, places ...int) (resume func()) {
	t.Helper()
	resume = func() {
		for _, i := range places {
			_ = s.brokers[i].Resume() // it fails only if it does not run
		}
	}
	t.Cleanup(resume)
	for _, i := range places {
		if err := s.brokers[i].Pause(); err != nil {
			t.Fatal(err)
		}
	}
	return resume
}

// startBroker starts a broker and waits until it has what was written meanwhile.
func (s servers) startBroker(t *testing.T, place int, topics ...string) {
	t.Helper()
	if err := s.brokers[place].Start(patiently(t)); err != nil {
		t.Fatal(err)
	}
	s.inSync(t, len(s.brokers), topics...)
}

// allTopics are those of the world, and that of the groups.
func (w *world) allTopics() []string {
	return append([]string{w.Dead, "__consumer_offsets"}, w.Topics...)
}

// threeReplicas fails unless the topics are what these faults are about.
func (w *world) threeReplicas(t *testing.T) {
	t.Helper()
	w.inSync(t, 3, w.allTopics()...)
	want := map[string]string{"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
	for _, topic := range w.Topics {
		answer, err := w.Client.DescribeConfigs(patiently(t), &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
			{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"min.insync.replicas", "unclean.leader.election.enable"}}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range answer.Resources[0].ConfigEntries {
			if entry.ConfigValue != want[entry.ConfigName] {
				t.Fatalf("%s of topic %s is %q, want %q", entry.ConfigName, topic, entry.ConfigValue, want[entry.ConfigName])
			}
		}
		if n := len(answer.Resources[0].ConfigEntries); n != len(want) {
			t.Fatalf("topic %s: %d settings, want %d", topic, n, len(want))
		}
	}
}

// told is what one broker says of topics: of their partitions, by topic. It asks anew, since clients remember for seconds.
func told(ctx context.Context, by *stack.Kafka, topics ...string) (map[string][]kafka.Partition, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := kafka.Client{Addr: kafka.TCP(by.Addr()), Transport: transport}
	answer, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
	if err != nil {
		return nil, err
	}
	partitions := map[string][]kafka.Partition{}
	for _, topic := range answer.Topics {
		if topic.Error != nil {
			return nil, fmt.Errorf("asking for the partitions of %s: %w", topic.Name, topic.Error)
		}
		partitions[topic.Name] = topic.Partitions
	}
	return partitions, nil
}

// inSync waits until so many replicas of every partition are in sync, as all brokers see it that are awake.
func (s servers) inSync(t *testing.T, n int, topics ...string) {
	t.Helper()
	harness.Within(t, 2*time.Minute, fmt.Sprintf("%d replicas in sync", n), func() error {
		answered := 0
		for i, b := range s.brokers {
			partitions, err := told(t.Context(), b, topics...)
			if err != nil && n < len(s.brokers) {
				continue // it is paused or dead
			} else if err != nil {
				return err
			}
			answered++
			for topic, list := range partitions {
				for _, p := range list {
					if p.Error != nil || len(p.Isr) != n {
						return errors.Join(fmt.Errorf("broker %d says that %d replicas of %s %d are in sync", i+1, len(p.Isr), topic, p.ID), p.Error)
					}
				}
			}
		}
		if answered < n {
			return fmt.Errorf("%d brokers answer", answered)
		}
		return nil
	})
}

// leader is the place of a partition's leader. All brokers must be up.
func (s servers) leader(t *testing.T, topic string, number int) int {
	t.Helper()
	return s.newLeader(t, topic, number, -1)
}

// newLeader waits until a partition is led by another broker than before, as the others see it, and returns its place.
func (s servers) newLeader(t *testing.T, topic string, number, before int) (place int) {
	t.Helper()
	harness.Within(t, 2*time.Minute, fmt.Sprintf("a leader of %s %d", topic, number), func() error {
		partitions, err := told(t.Context(), s.brokers[s.otherThan(before)[0]], topic)
		if err != nil {
			return err
		}
		for _, p := range partitions[topic] {
			if place = p.Leader.ID - 1; p.ID == number && p.Error == nil && place >= 0 && place != before {
				return nil
			}
		}
		return fmt.Errorf("%+v", partitions[topic])
	})
	return place
}

// ledApart is a partition of a topic that another broker leads than the one that coordinates the group, and that broker's place.
func (w *world) ledApart(t *testing.T, topic string) (number, leader int) {
	t.Helper()
	coordinator := w.coordinator(t)
	for number := range partitions {
		if leader := w.leader(t, topic, number); leader != coordinator {
			return number, leader
		}
	}
	t.Fatalf("one broker leads all of %s and coordinates the group", topic)
	return 0, 0
}

// coordinator is the place of the group's coordinator.
func (w *world) coordinator(t *testing.T) (place int) {
	t.Helper()
	harness.Within(t, time.Minute, "a coordinator", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		answer, err := w.Client.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{Key: w.Group, KeyType: kafka.CoordinatorKeyTypeConsumer})
		if err == nil {
			err = answer.Error
		}
		if err != nil {
			return err
		}
		at := net.JoinHostPort(answer.Coordinator.Host, strconv.Itoa(answer.Coordinator.Port))
		if place = slices.IndexFunc(w.brokers, func(b *stack.Kafka) bool { return b.Addr() == at }); place < 0 {
			return fmt.Errorf("no broker listens on %s", at)
		}
		return nil
	})
	return place
}
