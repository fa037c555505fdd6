package rollup

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A consumer refuses a topic that deletes events too early, before it counts anything.
func TestTopicsThatDeleteTooEarlyAreRefused(t *testing.T) {
	f := func(name, value string, texts ...string) {
		t.Helper()
		b := newBench(t, 1)
		b.configure(t, "visits", name, value)
		b.refused(t, append(texts, "visits", "kafka-configs")...)
	}
	f("cleanup.policy", "compact", "cleanup.policy=compact", "cleanup.policy=delete")
	f("cleanup.policy", "compact,delete", "cleanup.policy=compact,delete", "each visitor's last event")
	f("retention.ms", "86400000", "keeps its events for 24h0m0s", "duplicates.age", "25h0m0s", "retention.ms=90000000")
	f("retention.ms", "0", "keeps its events for 0s")
}

// Retention that is just long enough, or unlimited, is accepted without a warning.
func TestTopicsThatKeepLongEnough(t *testing.T) {
	for _, retention := range []string{"90000000", "-1"} {
		b := newBench(t, 1)
		b.configure(t, "visits", "retention.ms", retention)
		b.send(t, 0, 1)
		if err := b.run(t, 1); err != nil {
			t.Errorf("retention.ms %s: %v", retention, err)
		}
		if b.said.Len() > 0 {
			t.Errorf("with retention.ms %s the consumer logs\n%s", retention, b.said.String())
		}
	}
}

// Rows of visitors must not expire while Kafka still has their clicks.
func TestVisitorRowsMustOutliveTheirClicks(t *testing.T) {
	b := newBench(t, 1)
	b.cfg.Visitors.IPTTL = 26 * time.Hour
	b.configure(t, "clicks", "retention.ms", "604800000")
	b.refused(t, "clicks", "visitors.ip_ttl")
}

// Whether a limit by size deletes too early is not known at start: the consumer warns of it, and counts.
func TestRetentionBySizeIsWarnedOf(t *testing.T) {
	b := newBench(t, 1)
	b.configure(t, "clicks", "retention.bytes", "1000000")
	b.send(t, 0, 1)
	if err := b.run(t, 1); err != nil {
		t.Fatal(err)
	}
	if said := b.said.String(); !strings.Contains(said, "retention_bytes=1000000") || !strings.Contains(said, "topic=clicks") {
		t.Errorf("the consumer said %q", said)
	}
}

// If the broker does not allow to read a topic's configuration, the consumer warns of that, and counts.
func TestConfigurationThatMayNotBeRead(t *testing.T) {
	b := newBench(t, 1)
	b.configure(t, "clicks", "cleanup.policy", "compact")
	b.cluster.ControlKey(int16(kmsg.DescribeConfigs), func(request kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		answer := request.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range request.(*kmsg.DescribeConfigsRequest).Resources {
			answer.Resources = append(answer.Resources, kmsg.DescribeConfigsResponseResource{
				ResourceType: r.ResourceType, ResourceName: r.ResourceName, ErrorCode: kerr.TopicAuthorizationFailed.Code,
			})
		}
		return answer, nil, true
	})
	b.send(t, 0, 1)
	if err := b.run(t, 1); err != nil {
		t.Fatal(err)
	}
	if said := b.said.String(); !strings.Contains(said, "DescribeConfigs") {
		t.Errorf("the consumer said %q", said)
	}
}
