// Package dial makes Kafka clients from the configuration: brokers, TLS and login. Producers, consumers and internal/kafka/topics share it, so
// that none of them leaves out a part.
package dial

import (
	"context"
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

// Kafka says how to reach a cluster; make one with New or Plain. Safe for concurrent use.
type Kafka struct {
	Brokers []string

	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	tls    *tls.Config    // nil: not encrypted
	sasl   sasl.Mechanism // nil: no login
	shared *kafka.Transport
}

// Plain is for brokers without TLS and login.
func Plain(brokers ...string) Kafka {
	k := Kafka{Brokers: brokers, dial: careful(tcp)}
	k.shared = k.Transport()
	return k
}

// New reads the certificate files of the configuration. It does not connect. Errors are *configs.Wrong.
func New(c configs.KafkaClient) (Kafka, error) {
	k := Kafka{Brokers: c.Brokers, dial: c.Dial}
	var err error
	if k.tls, err = c.TLS.Client(); err != nil {
		return k, fmt.Errorf("reading kafka.tls: %w", err)
	}
	if k.sasl, err = mechanism(c.SASL); err != nil {
		return k, configs.MarkWrong(fmt.Errorf("reading kafka.sasl: %w", err))
	}
	if k.dial == nil {
		k.dial = tcp
	}
	if k.tls == nil { // else the handshake tells
		k.dial = careful(k.dial)
	}
	k.shared = k.Transport()
	return k, nil
}

var tcp = (&net.Dialer{Timeout: dialTimeout}).DialContext

// Risk says what is risky about how the brokers are reached, and what to do; empty: nothing.
func (k Kafka) Risk() string {
	risk := ""
	switch {
	case k.tls != nil && k.tls.InsecureSkipVerify:
		risk = "with kafka.tls.insecure anybody in between can answer as %s, take passwords and change events: set kafka.tls.ca instead"
	case k.tls == nil && k.sasl != nil && k.sasl.Name() == "PLAIN":
		risk = "the password of kafka.sasl goes to %s in clear: set kafka.tls.enabled, or a mechanism scram-sha-256 or scram-sha-512"
	}
	for _, broker := range k.Brokers {
		host, _, _ := net.SplitHostPort(broker) // one that is none cannot be reached
		if ip := net.ParseIP(host); risk != "" && host != "localhost" && !ip.IsLoopback() {
			return fmt.Sprintf(risk, broker)
		}
	}
	return ""
}

// Addr is the address of the bootstrap brokers.
func (k Kafka) Addr() net.Addr { return kafka.TCP(k.Brokers...) }

// Client is for occasional requests. All clients of one Kafka share connections and cached metadata.
func (k Kafka) Client(timeout time.Duration) *kafka.Client {
	return &kafka.Client{Addr: k.Addr(), Timeout: timeout, Transport: k.shared}
}

// Forget drops the cached metadata of all clients. It may be some seconds old and lack a topic that was just created.
func (k Kafka) Forget() { k.shared.CloseIdleConnections() }

// Transport is for kafka-go's Writer and Client. The caller may set its other fields, and closes its idle connections.
func (k Kafka) Transport() *kafka.Transport {
	return &kafka.Transport{Dial: k.dial, TLS: k.tls, SASL: k.sasl, DialTimeout: dialTimeout}
}

// Dialer is for kafka-go's Reader and ConsumerGroup.
func (k Kafka) Dialer() *kafka.Dialer {
	return &kafka.Dialer{DialFunc: k.dial, TLS: k.tls, SASLMechanism: k.sasl, Timeout: dialTimeout, DualStack: true}
}

// dialTimeout is kafka-go's default for readers. Its default for transports is half of that.
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
