package kafkachecks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/configs"
	"footfall/internal/doctor"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/dial/dialtest"
)

// first is the first finding of a cluster's checks, as one text.
func first(t *testing.T, via dial.Kafka) string {
	t.Helper()
	c := &Cluster{Via: via, Bases: []string{"clicks", "visits"}, Others: []string{"dead"}}
	f := doctor.Examine(t.Context(), "test", c.Checks()).Findings[0]
	if f.Severity != doctor.OK && f.Remedy == "" {
		t.Errorf("a finding without a remedy: %+v", f)
	}
	return fmt.Sprintf("%s %s: %s", f.Severity, f.Check, f.What)
}

func cluster(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, dial.Kafka) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, dial.Plain(c.ListenAddrs()...)
}

func TestKafkaOfABroker(t *testing.T) {
	f := func(via dial.Kafka, want string) {
		t.Helper()
		if got := first(t, via); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	_, healthy := cluster(t, kfake.SeedTopics(2, "clicks", "clicks-g2", "visits", "dead"))
	f(healthy, "ok kafka: Kafka answers, with 1 brokers")
	_, missing := cluster(t, kfake.SeedTopics(2, "clicks", "dead"))
	f(missing, "fault topics: topic visits does not exist")
	_, lettersMissing := cluster(t, kfake.SeedTopics(2, "clicks", "visits"))
	f(lettersMissing, "fault topics: topic dead does not exist")

	down, gone := cluster(t)
	down.Close()
	f(gone, "fault kafka: Kafka at 127.0.0.1:")

	files := dialtest.NewFiles(t)
	_, guarded := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "producer", "secret"), kfake.TLS(files.Server))
	with := func(ca, password string) dial.Kafka {
		via, err := dial.New(configs.KafkaClient{
			Brokers: guarded.Brokers, TLS: configs.TLS{Enabled: true, CA: ca}, SASL: configs.SASL{Mechanism: "plain", Username: "producer", Password: password}})
		if err != nil {
			t.Fatal(err)
		}
		return via
	}
	f(with(files.CA, "guess"), "fault kafka: Kafka at "+guarded.Brokers[0]+" hangs up: it refuses the login") // a real broker says why; see test/e2e
	f(dial.Plain(guarded.Brokers...), "fault kafka: Kafka at "+guarded.Brokers[0]+" ")
	f(with(dialtest.NewFiles(t).CA, "secret"), "fault kafka: the certificate of Kafka at "+guarded.Brokers[0]+" is not trusted")
	f(with(files.CA, "secret"), "fault topics: topic clicks does not exist")
}

func TestNewest(t *testing.T) {
	_, via := cluster(t, kfake.SeedTopics(2, "clicks", "clicks-g2", "visits", "dead"))
	c := &Cluster{Via: via, Bases: []string{"clicks", "visits"}, Others: []string{"dead"}}
	doctor.Examine(t.Context(), "test", c.Checks())
	if want := []string{"clicks-g2", "visits", "dead"}; !slices.Equal(c.Newest(), want) {
		t.Errorf("%q, want %q", c.Newest(), want)
	}
}

func TestJudgeAcks(t *testing.T) {
	f := func(brokers, replicas int, inSync []int, config, want string) {
		t.Helper()
		topic := kafka.Topic{Name: "visits"}
		for id, n := range inSync {
			topic.Partitions = append(topic.Partitions, kafka.Partition{ID: id, Replicas: make([]kafka.Broker, replicas), Isr: make([]kafka.Broker, n)})
		}
		values := map[string]string{}
		for pair := range strings.FieldsSeq(config) {
			name, value, _ := strings.Cut(pair, "=")
			values[name] = value
		}
		var got []string
		for _, finding := range judgeAcks(topic, values, brokers) {
			got = append(got, string(finding.Severity)+" "+finding.What)
			if finding.Remedy == "" {
				t.Errorf("no remedy: %+v", finding)
			}
		}
		if text := strings.Join(got, "; "); !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%d brokers, %d replicas, in sync %v, %s: %q, want %q", brokers, replicas, inSync, config, text, want)
		}
	}
	f(1, 1, []int{1, 1}, "min.insync.replicas=1", "")
	f(1, 1, []int{1}, "", "")
	f(3, 3, []int{3, 3}, "min.insync.replicas=2 unclean.leader.election.enable=false", "")
	f(1, 1, []int{1, 1}, "min.insync.replicas=2", "fault topic visits has min.insync.replicas 2, but 1 replicas")
	f(3, 3, []int{3, 1}, "min.insync.replicas=2", "fault partition 1 of topic visits has 1 replicas in sync")
	f(3, 3, []int{3, 2}, "min.insync.replicas=2", "warning partition 1 of topic visits has 2 of 3 replicas in sync")
	f(3, 1, []int{1}, "min.insync.replicas=1", "warning topic visits has one replica")
	f(3, 3, []int{3}, "min.insync.replicas=1", "on one disk alone")
	f(3, 3, []int{3}, "min.insync.replicas=2 unclean.leader.election.enable=true", "allows unclean leaders")
	f(3, 3, []int{3}, "min.insync.replicas=two", `fault topic visits has min.insync.replicas "two"`)
}

func TestJudgeVersions(t *testing.T) {
	modern := []kafka.ApiVersionsResponseApiKey{{ApiKey: int(protocol.IncrementalAlterConfigs)}}
	for api, version := range needed {
		modern = append(modern, kafka.ApiVersionsResponseApiKey{ApiKey: int(api), MaxVersion: version})
	}
	without := func(api protocol.ApiKey) []kafka.ApiVersionsResponseApiKey {
		return slices.DeleteFunc(slices.Clone(modern), func(k kafka.ApiVersionsResponseApiKey) bool { return k.ApiKey == int(api) })
	}
	f := func(want string, brokers ...[]kafka.ApiVersionsResponseApiKey) {
		t.Helper()
		by := map[string][]kafka.ApiVersionsResponseApiKey{}
		for i, keys := range brokers {
			by[fmt.Sprintf("broker-%d", i)] = keys
		}
		found := judgeVersions(by)[0]
		if got := string(found.Severity) + " " + found.What; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("ok all 2 brokers", modern, modern)
	f("fault broker broker-1 does not support DescribeConfigs", modern, without(protocol.DescribeConfigs))
	f("warning broker broker-0 does not support IncrementalAlterConfigs", without(protocol.IncrementalAlterConfigs))
	f("warning brokers are of different versions", modern, append(slices.Clone(modern), kafka.ApiVersionsResponseApiKey{ApiKey: 77}))
}
