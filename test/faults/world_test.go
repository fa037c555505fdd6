package faults

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/process"
)

// servers are shared by all faults of a run, since starting them takes longer than most faults.
type servers struct {
	brokers []*stack.Kafka
	nodes   []*stack.Cassandra
}

// kafka is the addresses of all brokers, as they stand in a configuration.
func (s servers) kafka() string { return addresses(s.brokers) }

func addresses(brokers []*stack.Kafka) string {
	var list []string
	for _, b := range brokers {
		list = append(list, b.Addr())
	}
	return strings.Join(list, ",")
}

// world is one deployment of the product with its own topics, group and keyspaces, so that faults do not affect each other.
type world struct {
	servers
	*broker.Broker
	name      string
	env       []string
	dir       string
	addr      string // of the producer, the same for every one that is started
	producer  *process.Process
	started   int // processes so far
	consumers []*consumer
	sent      []*traffic
	littering sync.Mutex         // guards Topics while traffic goes on
	poison    map[string]bool    // origins of messages that must not be counted
	gone      map[string]float64 // metrics of consumers that have ended
	last      *reading           // the last reading of the log
	patience  time.Duration      // how long judge waits for repairs
}

var (
	producerListening = regexp.MustCompile(`"listening","addr":"([^"]+)"`)
	consumerStarted   = regexp.MustCompile(`"consumer started","addr":"([^"]+)"`)
)

// requestTimeout is how long consumers wait for an answer of Cassandra, as by default.
const requestTimeout = 12 * time.Second

// partitions is the number of each topic: enough that every consumer has some of both.
const partitions = 4

// newWorld creates the schema and starts the producer, which creates the topics. env is for all processes of the world.
func newWorld(t *testing.T, s servers, env ...string) *world {
	t.Helper()
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	name := "f" + hex.EncodeToString(b[:])
	ports, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		servers: s, name: name, addr: fmt.Sprintf("127.0.0.1:%d", ports[0]), poison: map[string]bool{}, gone: map[string]float64{},
		patience: repairPatience,
		Broker:   broker.New(s.kafka(), name, name+"-dead", name+"-clicks", name+"-visits"),
		dir:      logDir(t, regexp.MustCompile(`\W+`).ReplaceAllString(t.Name(), "-")),
		env: append([]string{
			"FOOTFALL_KAFKA_BROKERS=" + s.kafka(),
			"FOOTFALL_KAFKA_TOPICS_CLICKS=" + name + "-clicks",
			"FOOTFALL_KAFKA_TOPICS_VISITS=" + name + "-visits",
			"FOOTFALL_KAFKA_TOPICS_DEAD=" + name + "-dead",
			"FOOTFALL_KAFKA_CREATE_TOPICS=true",
			"FOOTFALL_ACCESS_OPEN=true",
			"FOOTFALL_KAFKA_PARTITIONS=" + strconv.Itoa(partitions),
			"FOOTFALL_KAFKA_GROUP=" + name,
			"FOOTFALL_KAFKA_SESSION_TIMEOUT=6s", // the shortest that brokers allow
			"FOOTFALL_CASSANDRA_HOSTS=" + s.nodes[0].Address,
			"FOOTFALL_CASSANDRA_PORT=" + strconv.Itoa(s.nodes[0].Port),
			"FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=_" + name,
			"FOOTFALL_CASSANDRA_TIMEOUT=" + requestTimeout.String(),
			// A chunk has the events of a second and a few hundred keys, and only 48 writes are in flight: a flush lasts long enough
			// to be hit, and has keys left to write when it is.
			"FOOTFALL_CHUNK_MAX_AGE=1s",
			"FOOTFALL_CHUNK_MAX_EVENTS=1500",
			"FOOTFALL_CASSANDRA_IN_FLIGHT=48",
		}, env...),
	}
	s.repair(t)
	migrate := process.Command{Name: "migrate", Path: binaries.Path(t, "consumer"), Args: []string{"migrate"}, Env: w.env, Dir: w.dir}
	if _, err := process.Run(patiently(t), migrate); err != nil {
		t.Fatal(err)
	}
	w.startProducer(t)
	t.Cleanup(func() {
		w.producer.Kill()
		for _, c := range w.consumers {
			c.end()
		}
		if t.Failed() {
			for _, c := range w.consumers {
				t.Log(c.Tail(15))
			}
		}
		w.dropTables(t)
	})
	return w
}

// dropTables drops the world's keyspaces: with those of all worlds Cassandra would take longer and longer to start.
func (w *world) dropTables(t *testing.T) {
	t.Helper()
	if len(w.nodes) > 1 {
		return // no other world uses these nodes
	}
	session, err := w.session(context.Background())
	if err != nil {
		t.Log(err) // the next world starts dead nodes
		return
	}
	defer session.Close()
	for _, keyspace := range []string{"footfall_", "urlshortener_", "cardinality_"} {
		if err := session.Query("DROP KEYSPACE " + keyspace + w.name).Exec(); err != nil {
			t.Log(err)
		}
	}
}

// repair resumes and starts servers that a failed fault has left paused or dead, so that the next fault does not fail with it.
func (s servers) repair(t *testing.T) {
	t.Helper()
	for _, n := range s.nodes {
		_ = n.Resume() // it fails only if it does not run
		if err := n.Start(patiently(t)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range s.brokers {
		_ = b.Resume()
	}
	if err := stack.StartAll(patiently(t), s.brokers...); err != nil {
		t.Fatal(err)
	}
}

// startProducer starts a producer, always on the same address.
func (w *world) startProducer(t *testing.T) {
	t.Helper()
	w.started++
	p, err := process.Start(process.Command{
		Name: fmt.Sprintf("producer%d", w.started), Path: binaries.Path(t, "producer"), Dir: w.dir,
		Env: append(w.env[:len(w.env):len(w.env)], "FOOTFALL_HTTP_ADDR="+w.addr),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.producer = p
	if _, err := p.Expect(patiently(t), producerListening); err != nil {
		t.Fatal(err)
	}
}

// session connects to Cassandra directly, past all proxies.
func (w *world) session(ctx context.Context) (*gocql.Session, error) {
	cluster := gocql.NewCluster(w.nodes[0].Address)
	cluster.Port, cluster.ProtoVersion = w.nodes[0].Port, 4
	cluster.Timeout, cluster.ConnectTimeout = 20*time.Second, 5*time.Second
	cluster.Consistency = gocql.Quorum
	cluster.Logger = silence{}
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, fmt.Errorf("connecting to Cassandra: %w", err)
	}
	return session, ctx.Err()
}

// silence drops gocql's log, in which unreachable nodes are expected.
type silence struct{}

func (silence) Print(...any)          {}
func (silence) Printf(string, ...any) {}
func (silence) Println(...any)        {}
