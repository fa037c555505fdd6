package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// garbage is a message that some other producer may put on a topic, and the reason it must be refused for.
type garbage struct {
	name, key, value string
	partition        int // -1: where Murmur2 of the key says
	reason           string
}

// letters are for the topic of visits, whose partition count is given.
func letters(partitions int) []garbage {
	visit := func(id, rest string) string {
		return `{"v":1,"id":"` + id + `","siteId":"dead","guid":"g","ts":1538352000000` + rest + `}`
	}
	const key = "dead|g"
	right := murmur2(key, partitions)
	long := strings.Repeat("x", 70_000)
	return []garbage{
		{"not JSON", key, `{"v":1,`, -1, "bad_json"},
		{"nothing", key, ``, -1, "bad_json"},
		{"two values", key, visit("d1", "") + "{}", -1, "bad_json"},
		{"a list", key, `[]`, -1, "bad_json"},
		{"bad UTF-8", key, visit("d2", `,"feature1":"`+"\xff\xfe"+`"`), -1, "bad_utf8"},
		{"70 KB value", key, visit("d3", `,"feature1":"`+long+`"`), -1, "feature1_too_long"},
		{"70 KB key", long, visit("d4", ""), -1, "wrong_partition"},
		{"600 KB value", key, visit("d5", `,"feature1":"`+strings.Repeat("y", 600_000)+`"`), -1, "feature1_too_long"},
		{"no key", "", visit("d6", ""), right, "wrong_partition"},
		{"another key", "dead|other", visit("d7", ""), -1, "wrong_partition"},
		{"another partition", key, visit("d8", ""), (right + 1) % partitions, "wrong_partition"},
		{"no version", key, `{"id":"d9","siteId":"dead","guid":"g","ts":1538352000000}`, -1, "missing_version"},
		{"a later version", key, strings.Replace(visit("d10", ""), `"v":1`, `"v":2`, 1), -1, "unknown_version"},
		{"no timestamp", key, `{"v":1,"id":"d11","siteId":"dead","guid":"g"}`, -1, "missing_timestamp"},
		{"seconds", key, strings.Replace(visit("d12", ""), "1538352000000", "1538352000", 1), -1, "bad_timestamp"},
		{"no guid", "dead|", `{"v":1,"id":"d13","siteId":"dead","ts":1538352000000}`, -1, "missing_guid"},
		{"NUL", key, visit("d14", `,"feature1":"a\u0000b"`), -1, "feature1_has_nul"},
	}
}

// produce writes one message to one partition and says where it is, as the headers of a dead letter do.
func (b *broker) produce(t *testing.T, topic string, partition int, key, value string) string {
	t.Helper()
	answer, err := b.client.Produce(t.Context(), &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Key: kafka.NewBytes([]byte(key)), Value: kafka.NewBytes([]byte(value))}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	return fmt.Sprintf("%s/%d/%d", topic, partition, answer.BaseOffset)
}

// deadLetters reads the dead-letter topic, by origin.
func (b *broker) deadLetters(t *testing.T) map[string]kafka.Message {
	t.Helper()
	ends, err := b.ends(t.Context(), b.dead)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]kafka.Message{}
	for p, end := range ends {
		if end == 0 {
			continue
		}
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{b.client.Addr.String()}, Topic: b.dead, Partition: p.number, MaxWait: 100 * time.Millisecond, MaxBytes: 4 << 20,
		})
		for range end {
			m, err := reader.ReadMessage(patiently(t))
			if err != nil {
				t.Fatal(err)
			}
			out[strings.Join([]string{header(m, "topic"), header(m, "partition"), header(m, "offset")}, "/")] = m
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
	return out
}

func header(m kafka.Message, key string) string {
	i := slices.IndexFunc(m.Headers, func(h kafka.Header) bool { return h.Key == key })
	if i < 0 {
		return ""
	}
	return string(m.Headers[i].Value)
}

// murmur2 is the partition of a key as Java clients choose it.
func murmur2(key string, partitions int) int {
	list := make([]int, partitions)
	for i := range list {
		list[i] = i
	}
	return kafka.Murmur2Balancer{Consistent: true}.Balance(kafka.Message{Key: []byte(key)}, list...)
}
