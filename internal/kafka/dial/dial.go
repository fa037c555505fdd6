// Package dial turns configuration into ways to reach Kafka: where, encrypted or not, and as whom. The door, the consumers
// and whoever looks at topics share it, so that none of them forgets a part.
package dial

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"footfall/configs"
)

// Kafka is how to reach a cluster; make one with New or Plain. It is safe for concurrent use.
type Kafka struct {
	Brokers []string

	tls    *tls.Config    // nil: not encrypted
	sasl   sasl.Mechanism // nil: no login
	shared *kafka.Transport
}

// Plain reaches brokers that ask for nothing.
func Plain(brokers ...string) Kafka {
	k := Kafka{Brokers: brokers}
	k.shared = k.Transport()
	return k
}

// New reads the files that the configuration names. Errors are *configs.Wrong.
func New(brokers []string, t configs.TLS, s configs.SASL) (Kafka, error) {
	k := Kafka{Brokers: brokers}
	var err error
	if k.tls, err = t.Client(); err != nil {
		return k, fmt.Errorf("reading kafka.tls: %w", err)
	}
	if k.sasl, err = mechanism(s); err != nil {
		return k, configs.MarkWrong(fmt.Errorf("reading kafka.sasl: %w", err))
	}
	k.shared = k.Transport()
	return k, nil
}

// Addr is where to begin.
func (k Kafka) Addr() net.Addr { return kafka.TCP(k.Brokers...) }

// Client asks things now and then. All clients share their connections and what they know about the cluster.
func (k Kafka) Client(timeout time.Duration) *kafka.Client {
	return &kafka.Client{Addr: k.Addr(), Timeout: timeout, Transport: k.shared}
}

// Forget lets all clients ask the cluster anew how it is. What they know may be some seconds old, and lack a topic that was just made.
func (k Kafka) Forget() { k.shared.CloseIdleConnections() }

// Transport is for kafka-go's Writer and Client. The caller may set its other fields, and closes its idle connections.
func (k Kafka) Transport() *kafka.Transport {
	return &kafka.Transport{TLS: k.tls, SASL: k.sasl, DialTimeout: dialTimeout}
}

// Dialer is for kafka-go's Reader and ConsumerGroup.
func (k Kafka) Dialer() *kafka.Dialer {
	return &kafka.Dialer{TLS: k.tls, SASLMechanism: k.sasl, Timeout: dialTimeout, DualStack: true}
}

// dialTimeout is kafka-go's default for readers; its transport would wait half as long.
const dialTimeout = 10 * time.Second

func mechanism(s configs.SASL) (sasl.Mechanism, error) {
	name := strings.ToLower(s.Mechanism)
	if name == "" {
		if s.Username != "" || s.Password != "" {
			return nil, errors.New("a username or password is set but no mechanism: want plain, scram-sha-256 or scram-sha-512")
		}
		return nil, nil
	}
	if s.Username == "" {
		return nil, errors.New("a mechanism is set but no username")
	}
	switch name {
	case "plain":
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case "scram-sha-256":
		return scram.Mechanism(scram.SHA256, s.Username, s.Password)
	case "scram-sha-512":
		return scram.Mechanism(scram.SHA512, s.Username, s.Password)
	}
	return nil, fmt.Errorf("mechanism %q: want plain, scram-sha-256 or scram-sha-512", s.Mechanism)
}
