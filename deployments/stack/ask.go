package stack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gocql/gocql"
	"github.com/segmentio/kafka-go"
)

const loopback = "127.0.0.1"

// AskKafka returns nil if the broker at addr (host:port) has registered and has a group coordinator. Asking for the latter makes Kafka create
// its offsets topic, so that the first consumer group after a start need not retry.
func AskKafka(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// A transport of its own: the shared one caches metadata of a broker that may have been restarted.
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(addr), Timeout: 5 * time.Second, Transport: transport}
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
	if err != nil {
		return fmt.Errorf("asking kafka at %s for metadata: %w", addr, err)
	}
	if len(meta.Brokers) == 0 {
		return fmt.Errorf("asking kafka at %s for metadata: no broker has registered yet", addr)
	}
	coord, err := client.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{
		Key: "footfall-stack", KeyType: kafka.CoordinatorKeyTypeConsumer})
	if err == nil {
		err = coord.Error
	}
	if err != nil {
		return fmt.Errorf("asking kafka at %s for a coordinator: %w", addr, err)
	}
	return nil
}

// AskCassandra returns nil if the node at host answers CQL on port. It asks this node only, not the rest of its cluster.
func AskCassandra(ctx context.Context, host string, port int) error {
	return askNode(ctx, host, port, nil)
}

func askNode(ctx context.Context, host string, port int, as *Secure) error {
	session, err := dial(host, port, as)
	if err != nil {
		return err
	}
	defer session.Close()
	var state string
	err = session.Query(`SELECT bootstrapped FROM system.local`).WithContext(ctx).Scan(&state)
	if err == nil && state != "COMPLETED" {
		err = errors.New("the node is still joining: " + state)
	}
	if err != nil {
		return fmt.Errorf("asking cassandra at %s:%d: %w", host, port, err)
	}
	return nil
}

// dial opens a session with one connection to one node.
func dial(host string, port int, as *Secure) (*gocql.Session, error) {
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	cluster.ProtoVersion = 4 // negotiating the version takes a round trip, and logs
	cluster.NumConns = 1
	cluster.ConnectTimeout = 3 * time.Second
	cluster.Timeout = 5 * time.Second
	cluster.DisableInitialHostLookup = true
	cluster.ReconnectInterval = 0
	cluster.Consistency = gocql.One
	cluster.Logger = silence{}
	if err := as.login(cluster); err != nil {
		return nil, err
	}
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, fmt.Errorf("connecting to cassandra at %s:%d: %w", host, port, err)
	}
	return session, nil
}

// silence drops gocql's log: a node that is not up yet is what we expect.
type silence struct{}

func (silence) Print(...any)          {}
func (silence) Printf(string, ...any) {}
func (silence) Println(...any)        {}
