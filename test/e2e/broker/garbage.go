package broker

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"
)

// Garbage is a message that another Kafka client may put on a topic, and the reason for which it must become a dead letter.
type Garbage struct {
	Name, Key, Value string
	Partition        int // -1: by Murmur2 of the key
	Reason           string
}

// Letters are garbage of every kind, for a topic of visits with so many partitions.
func Letters(partitions int) []Garbage {
	visit := func(id, rest string) string {
		return `{"v":1,"id":"` + id + `","siteId":"dead","guid":"g","ts":1538352000000` + rest + `}`
	}
	const key = "dead|g"
	right := Murmur2(key, partitions)
	long := strings.Repeat("x", 70_000)
	return []Garbage{
		{"noise", key, "\x00\xff\x80\x13\xfe", -1, "bad_utf8"},
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
		{"features of other tables", key, visit("d15", `,"device":"phone"`), -1, "unknown_feature"},
		{"NUL", key, visit("d14", `,"feature1":"a\u0000b"`), -1, "feature1_has_nul"},
	}
}

// Litter writes letters to the topic of visits and returns the origin of each.
func (b *Broker) Litter(ctx context.Context, visits string, letters []Garbage, partitions int) ([]string, error) {
	origins := make([]string, len(letters))
	for i, g := range letters {
		partition := g.Partition
		if partition < 0 {
			partition = Murmur2(g.Key, partitions)
		}
		var err error
		if origins[i], err = b.Produce(ctx, visits, partition, g.Key, g.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", g.Name, err)
		}
	}
	return origins, nil
}

// Check compares dead letters, by origin, with the letters that Litter wrote. It returns a line for each that is missing or wrong.
func Check(letters []Garbage, origins []string, dead map[string]kafka.Message) (wrong []string) {
	for i, g := range letters {
		m, ok := dead[origins[i]]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: no dead letter from %s", g.Name, origins[i]))
		} else if what := g.check(m); what != "" {
			wrong = append(wrong, g.Name+": "+what)
		}
	}
	return wrong
}

// check returns what is wrong with the dead letter of g, or "".
func (g Garbage) check(m kafka.Message) string {
	if got := Header(m, "reason"); got != g.Reason {
		return fmt.Sprintf("reason %q (%s), want %q", got, Header(m, "detail"), g.Reason)
	}
	if truncated := Header(m, "truncated"); truncated != "" {
		if !strings.HasPrefix(g.Value, string(m.Value)) || truncated != fmt.Sprint(len(g.Key)+len(g.Value)) {
			return fmt.Sprintf("cut to %d bytes, and its header says that it had %s", len(m.Value), truncated)
		}
	} else if !bytes.Equal(m.Value, []byte(g.Value)) || string(m.Key) != g.Key {
		return "the dead letter has another key or value than the message"
	}
	return ""
}
