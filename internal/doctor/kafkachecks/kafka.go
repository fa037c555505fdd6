// Package kafkachecks has the checks of Kafka that the doctors of producer and consumer share: whether it answers and which versions it speaks,
// whether the topics exist, and whether their replicas can acknowledge what is written.
package kafkachecks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"footfall/internal/doctor"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
)

// Names of the checks, for others that need them.
const (
	Reach    = "kafka"
	Versions = "kafka versions"
	Topics   = "topics"
	Acks     = "acks"
)

// Cluster is the Kafka that is checked. Use it for one examination.
type Cluster struct {
	Via    dial.Kafka
	Bases  []string // topics of events, by the names of their first generations
	Others []string // topics that have no generations

	brokers []kafka.Broker // once Reach was checked
	newest  []string       // once Topics was checked
}

// Newest are the topics that are written to: the newest generation of each base, and the others. Checks that need Topics may ask.
func (c *Cluster) Newest() []string { return c.newest }

// Checks are all of the cluster's, in the order of causes.
func (c *Cluster) Checks() []doctor.Check {
	return []doctor.Check{
		{Name: Reach, Run: c.reach},
		{Name: Versions, Needs: []string{Reach}, Run: c.versions},
		{Name: Topics, Needs: []string{Reach}, Run: c.topics},
		{Name: Acks, Needs: []string{Topics}, Run: c.acks},
	}
}

// attempt bounds the connection to a broker, so that a silent one leaves time to say so.
const attempt = 3 * time.Second

// client makes a client that knows nothing yet: kafka-go answers metadata from a cache.
func (c *Cluster) client() (*kafka.Client, func()) {
	transport := c.Via.Transport()
	transport.DialTimeout = attempt
	return &kafka.Client{Addr: c.Via.Addr(), Transport: transport, Timeout: attempt}, transport.CloseIdleConnections
}

func (c *Cluster) reach(ctx context.Context) doctor.Findings {
	client, done := c.client()
	defer done()
	answer, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: append(slices.Clone(c.Bases), c.Others...)})
	if err != nil {
		return unreachable(err, "Kafka at "+strings.Join(c.Via.Brokers, ", "))
	}
	c.brokers = answer.Brokers
	return doctor.Fine("Kafka answers, with %d brokers", len(c.brokers))
}

// unreachable says why a broker cannot be spoken to.
func unreachable(err error, who string) doctor.Findings {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, kafka.SASLAuthenticationFailed), errors.Is(err, kafka.UnsupportedSASLMechanism), errors.Is(err, kafka.IllegalSASLState):
		return doctor.Faulty("set kafka.sasl (mechanism, username, password) as Kafka has them", "%s refuses the login: %v", who, err)
	case errors.As(err, &untrusted):
		return doctor.Faulty("set kafka.tls.ca to the authority that signed the brokers' certificates, and name brokers in kafka.brokers as their certificates do",
			"the certificate of %s is not trusted: %v", who, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return doctor.Faulty("set kafka.tls and kafka.sasl as the listener wants them, or name another port in kafka.brokers",
			"%s hangs up: it refuses the login, or does not speak TLS and logins as configured: %v", who, err)
	}
	return doctor.Faulty("start Kafka, or mend kafka.brokers; if it runs there, it may ask for more: kafka.tls, kafka.sasl", "%s does not answer: %v", who, err)
}

// versions asks every broker by the address that Kafka names, as producers and consumers will.
func (c *Cluster) versions(ctx context.Context) doctor.Findings {
	found := map[string][]kafka.ApiVersionsResponseApiKey{}
	for _, b := range c.brokers {
		addr := net.JoinHostPort(b.Host, strconv.Itoa(b.Port))
		client, done := c.client()
		answer, err := client.ApiVersions(ctx, &kafka.ApiVersionsRequest{Addr: kafka.TCP(addr)})
		if done(); err == nil {
			err = answer.Error
		}
		if err != nil {
			f := unreachable(err, fmt.Sprintf("broker %d at %s", b.ID, addr))
			f[0].Remedy = "start the broker, or mend its advertised.listeners: Kafka names that address to its clients, so it has to be reachable from here; " + f[0].Remedy
			return f
		}
		found[addr] = answer.ApiKeys
	}
	return judgeVersions(found)
}

// needed are the requests that a producer and a consumer send, with the version from which on they can do what we need: messages with headers
// in Produce and Fetch (Kafka 0.11).
var needed = map[protocol.ApiKey]int{
	protocol.Produce: 3, protocol.Fetch: 4, protocol.ListOffsets: 1, protocol.Metadata: 1, protocol.OffsetCommit: 2, protocol.OffsetFetch: 1,
	protocol.FindCoordinator: 0, protocol.JoinGroup: 1, protocol.Heartbeat: 0, protocol.LeaveGroup: 0, protocol.SyncGroup: 0,
	protocol.DescribeGroups: 0, protocol.CreateTopics: 0, protocol.DescribeConfigs: 0,
}

// judgeVersions compares what brokers support, by their addresses, with what we need.
func judgeVersions(brokers map[string][]kafka.ApiVersionsResponseApiKey) (findings doctor.Findings) {
	addresses := slices.Sorted(maps.Keys(brokers))
	differ := false
	for _, address := range addresses {
		most := map[protocol.ApiKey]int{}
		for _, api := range brokers[address] {
			most[protocol.ApiKey(api.ApiKey)] = api.MaxVersion
		}
		for _, api := range slices.Sorted(maps.Keys(needed)) {
			if version, known := most[api]; !known || version < needed[api] {
				findings.Add(doctor.Faulty("upgrade Kafka: footfall is tested with 4.3", "broker %s does not support %v of version %d",
					address, api, needed[api]))
				break
			}
		}
		if _, known := most[protocol.IncrementalAlterConfigs]; !known {
			findings.Add(doctor.Doubtful("upgrade Kafka to 2.3 or later before you grow a topic", "broker %s does not support %v: consumer grow cannot seal topics",
				address, protocol.IncrementalAlterConfigs))
		}
		differ = differ || !slices.Equal(brokers[address], brokers[addresses[0]])
	}
	if differ {
		findings.Add(doctor.Doubtful("finish the upgrade of Kafka", "brokers are of different versions: is an upgrade under way?"))
	}
	return findings.OrFine("all %d brokers support what footfall needs", len(addresses))
}

func (c *Cluster) topics(ctx context.Context) (findings doctor.Findings) {
	var names []string
	for i, name := range slices.Concat(c.Bases, c.Others) {
		var err error
		if i < len(c.Bases) {
			var found []topics.Generation
			if found, err = topics.Generations(ctx, c.Via, name); err == nil {
				name = found[len(found)-1].Topic
			}
		} else {
			_, err = topics.Partitions(ctx, c.Via, name)
		}
		switch {
		case errors.Is(err, topics.ErrMissing):
			findings.Add(missing(name))
		case err != nil:
			return doctor.FromError(err, "look at Kafka's log")
		}
		names = append(names, name)
	}
	if len(findings) > 0 {
		return findings
	}
	if err := topics.Check(ctx, c.Via, names); err != nil {
		return doctor.Faulty("start the brokers that have the partition's replicas: nobody can write to it or read it meanwhile", "%v", err)
	}
	c.newest = names
	return doctor.Fine("%s exist, and each partition has a leader", strings.Join(names, ", "))
}

func missing(topic string) doctor.Findings {
	return doctor.Faulty("run `producer topics`, which creates it, or mend kafka.topics", "topic %s does not exist", topic)
}

func (c *Cluster) acks(ctx context.Context) (findings doctor.Findings) {
	client, done := c.client()
	defer done()
	answer, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: c.newest})
	if err != nil {
		return unreachable(err, "Kafka at "+strings.Join(c.Via.Brokers, ", "))
	}
	for _, topic := range answer.Topics {
		if len(topic.Partitions) == 0 { // somebody deletes it just now
			return missing(topic.Name)
		}
		config, err := topics.Config(ctx, c.Via, topic.Name, minISR, unclean)
		if errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.ClusterAuthorizationFailed) {
			findings.Add(doctor.Doubtful("allow DescribeConfigs on the topic", "%s of topic %s cannot be asked: %v", minISR, topic.Name, err))
			continue
		}
		if err != nil {
			return doctor.FromError(err, "look at Kafka's log")
		}
		findings.Add(judgeAcks(topic, config, len(answer.Brokers)))
	}
	return findings.OrFine("enough replicas of %s are in sync to acknowledge", strings.Join(c.newest, ", "))
}

const minISR, unclean = "min.insync.replicas", "unclean.leader.election.enable"

// judgeAcks says whether a topic's replicas can acknowledge, and whether they keep what they acknowledged. It returns nothing if all is well.
func judgeAcks(topic kafka.Topic, config map[string]string, brokers int) (findings doctor.Findings) {
	least, err := strconv.Atoi(cmp.Or(config[minISR], "1"))
	if err != nil {
		return doctor.Faulty("set it to a number", "topic %s has %s %q", topic.Name, minISR, config[minISR])
	}
	change := func(setting string) string {
		return fmt.Sprintf("run kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config %s", topic.Name, setting)
	}
	replicas, inSync := len(topic.Partitions[0].Replicas), len(topic.Partitions[0].Isr)
	worst := 0
	for _, p := range topic.Partitions {
		replicas = min(replicas, len(p.Replicas))
		if len(p.Isr) < inSync {
			inSync, worst = len(p.Isr), p.ID
		}
	}
	switch {
	case replicas < least:
		return doctor.Faulty("give the topic more replicas (kafka-reassign-partitions.sh), or "+change(fmt.Sprintf("%s=%d", minISR, max(1, replicas-1))),
			"topic %s has %s %d, but %d replicas: Kafka refuses every event", topic.Name, minISR, least, replicas)
	case inSync < least:
		return doctor.Faulty("start the brokers that are down, and wait until their replicas have caught up",
			"partition %d of topic %s has %d replicas in sync, and %s is %d: Kafka refuses its events", worst, topic.Name, inSync, minISR, least)
	case inSync < replicas:
		findings.Add(doctor.Doubtful("start the brokers that are down; if all run, see which replicas lag (kafka-topics.sh --describe --under-replicated-partitions)",
			"partition %d of topic %s has %d of %d replicas in sync", worst, topic.Name, inSync, replicas))
	}
	switch {
	case replicas == 1 && brokers > 1:
		findings.Add(doctor.Doubtful("give it three replicas (kafka-reassign-partitions.sh)", "topic %s has one replica: the loss of its broker costs acknowledged events",
			topic.Name))
	case replicas > 1 && least == 1:
		findings.Add(doctor.Doubtful(change(minISR+"=2"), "topic %s has %s 1: Kafka acknowledges events that are on one disk alone", topic.Name, minISR))
	}
	if replicas > 1 && config[unclean] == "true" {
		findings.Add(doctor.Doubtful(change(unclean+"=false"), "topic %s allows unclean leaders, which lose acknowledged events; consumers then refuse the topic",
			topic.Name))
	}
	return findings
}
