package configs

import (
	"context"
	"net"
	"time"
)

// TLS says how to speak to a server.
type TLS struct {
	Enabled   bool
	CA        string // a PEM file; the system's authorities if empty
	Cert, Key string // PEM files of the client's own certificate; none if empty
	Insecure  bool   // whoever answers is trusted
}

// SASL says who we are to Kafka.
type SASL struct {
	Mechanism          string // plain, scram-sha-256 or scram-sha-512; none if empty
	Username, Password string
}

// KafkaClient says where Kafka is and how to speak to it.
type KafkaClient struct {
	Brokers []string
	TLS     TLS
	SASL    SASL

	// Dial connects to a broker that is in this process. Default: over TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `mapstructure:"-"`
}

// CassandraClient says where Cassandra is and how to speak to it.
type CassandraClient struct {
	Hosts              []string
	Port               int
	LocalDC            string `mapstructure:"local_dc"`
	Username, Password string
	TLS                TLS
	KeyspaceSuffix     string `mapstructure:"keyspace_suffix"`
	Timeout            time.Duration
}

// Cassandra says also how the counting is done.
type Cassandra struct {
	CassandraClient `mapstructure:",squash"`
	Replication     string
	InFlight        int  `mapstructure:"in_flight"`
	RequireDurable  bool `mapstructure:"require_durable"`
}
