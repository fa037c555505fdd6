package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/test/harness"
)

// A leader that acknowledges what it has alone loses it: the same messages, to topics of the same replicas, with acks=1 and with acks=all.
func controlAcks(t *testing.T, s servers, r *row) {
	s.repair(t)
	b := newTopicPair(t, s)
	early := b.write(t, b.all, "early", kafka.RequireAll, 20, time.Minute)
	if n := len(b.write(t, b.one, "early", kafka.RequireAll, 20, time.Minute)); n != 20 || len(early) != 20 {
		t.Fatalf("%d and %d of 20 messages were acknowledged before the fault", len(early), n)
	}
	resume := s.pauseBrokers(t, 1, 2)
	late := make(chan []string, 1)
	go func() { late <- b.write(t, b.all, "late", kafka.RequireAll, 500, 5*time.Second) }()
	one := b.write(t, b.one, "late", kafka.RequireOne, 500, 5*time.Second)
	all := append(early, <-late...)
	if err := s.brokers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	resume()
	for _, topic := range []string{b.one, b.all} {
		s.newLeader(t, topic, 0, 0)
	}
	s.startBroker(t, 0, b.one, b.all)
	lostOne, lostAll := b.lost(t, b.one, one), b.lost(t, b.all, all)
	r.hits, r.events, r.wrong = "1 of 1", int64(len(one)), lostOne
	r.note = fmt.Sprintf("%d of %d messages that were acknowledged with acks=1 are gone; with acks=all %d of %d, of which %d were acknowledged during the pause",
		lostOne, len(one), lostAll, len(all), len(all)-len(early))
	if lostOne == 0 {
		t.Error("with acks=1 nothing was lost: these faults would not see what acks=all keeps")
	}
	if n := len(all) - len(early); n > 0 {
		t.Errorf("%d messages were acknowledged with acks=all by one replica of three", n)
	}
	if lostAll > 0 {
		t.Errorf("%d of %d messages that were acknowledged with acks=all are gone", lostAll, len(all))
	}
}

// topicPair is two topics of one partition, led by the first broker.
type topicPair struct {
	servers
	one, all string
}

func newTopicPair(t *testing.T, s servers) topicPair {
	t.Helper()
	b := topicPair{s, fmt.Sprintf("acks-one-%d", time.Now().UnixNano()), fmt.Sprintf("acks-all-%d", time.Now().UnixNano())}
	client := kafka.Client{Addr: kafka.TCP(s.brokers[0].Addr()), Timeout: 10 * time.Second, Transport: &kafka.Transport{}}
	var topics []kafka.TopicConfig
	for _, name := range []string{b.one, b.all} {
		topics = append(topics, kafka.TopicConfig{Topic: name, NumPartitions: -1, ReplicationFactor: -1,
			ReplicaAssignments: []kafka.ReplicaAssignment{{Partition: 0, Replicas: []int{1, 2, 3}}}})
	}
	answer, err := client.CreateTopics(patiently(t), &kafka.CreateTopicsRequest{Topics: topics})
	if err != nil || answer.Errors[b.one] != nil || answer.Errors[b.all] != nil {
		t.Fatal(err, answer)
	}
	s.inSync(t, 3, b.one, b.all)
	return b
}

// write writes up to n messages one by one, until one is not acknowledged or the time is over, and returns those that were.
func (b topicPair) write(t *testing.T, topic, when string, acks kafka.RequiredAcks, n int, most time.Duration) (acknowledged []string) {
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{Addr: kafka.TCP(b.brokers[0].Addr()), Topic: topic, RequiredAcks: acks, MaxAttempts: 1, BatchSize: 1,
		WriteTimeout: most, Transport: transport}
	defer func() { _ = writer.Close() }() // what is under way then was not acknowledged
	for i := range n {
		value := fmt.Sprintf("%s %d", when, i)
		if err := writer.WriteMessages(ctx, kafka.Message{Value: []byte(value)}); err != nil {
			break
		}
		acknowledged = append(acknowledged, value)
	}
	return acknowledged
}

// lost counts acknowledged messages that a topic lacks.
func (b topicPair) lost(t *testing.T, topic string, acknowledged []string) (n int) {
	t.Helper()
	kept := map[string]bool{}
	harness.Within(t, time.Minute, "reading "+topic, func() error {
		conn, err := kafka.DialLeader(patiently(t), "tcp", b.brokers[1].Addr(), topic, 0)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // only read
		end, err := conn.ReadLastOffset()
		if err != nil {
			return err
		}
		for offset := int64(0); offset < end; offset++ {
			m, err := conn.ReadMessage(1 << 20)
			if err != nil {
				return err
			}
			kept[string(m.Value)] = true
		}
		return nil
	})
	for _, value := range acknowledged {
		if !kept[value] {
			n++
		}
	}
	return n
}
