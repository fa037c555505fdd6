package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/dump"
	"footfall/test/e2e/process"
)

// real is the product on the Kafka and the Cassandra of `make up`, with its own topics, group and keyspaces.
type real struct {
	*broker.Broker
	session   *gocql.Session
	host      string
	port      int
	suffix    string
	env       []string
	dir       string
	url       string
	admin     string // URL of the producer's metrics
	consumers int    // started so far
	started   []*consumer
	keeps     kept
}

var (
	producerListening = regexp.MustCompile(`"listening","addr":"([^"]+)"`)
	adminListening    = regexp.MustCompile(`"listening","addr":"[^"]+","admin":"([^"]+)"`)
	consumerReady     = regexp.MustCompile(`"consumer started","addr":"([^"]+)"`)
)

// newReal starts the producer and so many consumers.
func newReal(t *testing.T, consumers int) *real {
	t.Helper()
	return newRealKeeping(t, consumers, byDefault)
}

func newRealKeeping(t *testing.T, consumers int, what kept) *real {
	t.Helper()
	d := prepareReal(t, what)
	d.open(t, consumers)
	return d
}

// prepareReal makes the schema of a deployment on the servers of `make up`.
func prepareReal(t *testing.T, what kept) *real {
	t.Helper()
	kafkaAddress, host, port := stacktest.Require(t)
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	return prepare(t, what, kafkaAddress, cluster)
}

// prepare makes the schema of a deployment on these servers. env overrides the test's own settings.
func prepare(t *testing.T, what kept, kafkaAddress string, cluster *gocql.ClusterConfig, env ...string) *real {
	t.Helper()
	d := describe(t, what, kafkaAddress, cluster, env...)
	d.migrate(t)
	return d
}

// describe makes the configuration of a deployment on these servers, and nothing on them.
func describe(t *testing.T, what kept, kafkaAddress string, cluster *gocql.ClusterConfig, env ...string) *real {
	t.Helper()
	name, host, port := unique(), cluster.Hosts[0], cluster.Port
	d := &real{
		Broker: broker.New(kafkaAddress, name, name+"-dead", name+"-clicks", name+"-visits"),
		host:   host, port: port, suffix: "_" + name, dir: t.TempDir(), keeps: what,
		env: append(what.env(),
			"FOOTFALL_HTTP_ADDR=127.0.0.1:0",
			"FOOTFALL_ACCESS_OPEN=true",
			"FOOTFALL_KAFKA_BROKERS="+kafkaAddress,
			"FOOTFALL_KAFKA_TOPICS_CLICKS="+name+"-clicks",
			"FOOTFALL_KAFKA_TOPICS_VISITS="+name+"-visits",
			"FOOTFALL_KAFKA_TOPICS_DEAD="+name+"-dead",
			"FOOTFALL_KAFKA_CREATE_TOPICS=true",
			"FOOTFALL_KAFKA_GROUP="+name,
			"FOOTFALL_CASSANDRA_HOSTS="+host,
			"FOOTFALL_CASSANDRA_PORT="+strconv.Itoa(port),
			"FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=_"+name,
			"FOOTFALL_LATEST_ENABLED=true",
		),
	}
	d.env = append(d.env, env...)
	d.connect(t, cluster)
	t.Cleanup(func() { d.clean(t) })
	return d
}

// migrate makes the schema.
func (d *real) migrate(t *testing.T) {
	t.Helper()
	d.migrateBy(t, binaries.Path(t, "consumer"))
}

// migrateBy makes the schema of a binary.
func (d *real) migrateBy(t *testing.T, consumer string) {
	t.Helper()
	begun := time.Now()
	if _, err := process.Run(patiently(t), process.Command{Name: "migrate", Path: consumer, Args: []string{"migrate"}, Env: d.env, Dir: d.dir}); err != nil {
		t.Fatal(err)
	}
	t.Logf("the schema took %s", time.Since(begun).Round(100*time.Millisecond))
}

// open starts the producer, with env besides the deployment's own, and so many consumers.
func (d *real) open(t *testing.T, consumers int, env ...string) {
	t.Helper()
	env = append(d.env[:len(d.env):len(d.env)], env...)
	producer := start(t, process.Command{Name: "producer", Path: binaries.Path(t, "producer"), Env: env, Dir: d.dir})
	address, err := producer.Expect(patiently(t), producerListening)
	if err != nil {
		t.Fatal(err)
	}
	d.url = "http://" + address
	if address, err = producer.Expect(patiently(t), adminListening); err != nil {
		t.Fatal(err)
	}
	d.admin = "http://" + address
	for range consumers {
		d.addConsumer(t)
	}
}

// consumer is one replica.
type consumer struct {
	*process.Process
	url string // of its health and metrics
}

func (d *real) addConsumer(t *testing.T) *consumer {
	t.Helper()
	return d.addConsumerOf(t, binaries.Path(t, "consumer"))
}

// addConsumerOf starts a consumer of a binary.
func (d *real) addConsumerOf(t *testing.T, path string) *consumer {
	t.Helper()
	d.consumers++
	name := fmt.Sprintf("consumer%d", d.consumers)
	p := start(t, process.Command{Name: name, Path: path, Env: d.env, Dir: d.dir})
	address, err := p.Expect(patiently(t), consumerReady)
	if err != nil {
		t.Fatal(err)
	}
	c := &consumer{Process: p, url: "http://" + address}
	d.started = append(d.started, c)
	return c
}

func (d *real) connect(t *testing.T, cluster *gocql.ClusterConfig) {
	t.Helper()
	cluster.ProtoVersion = 4
	cluster.Timeout, cluster.ConnectTimeout = time.Minute, 10*time.Second // dropping a keyspace may take a while
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	d.session = session
}

// clean removes the deployment's topics, group and keyspaces.
func (d *real) clean(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	begun := time.Now()
	errs := d.Remove(ctx)
	for _, keyspace := range []string{"footfall", "urlshortener", "cardinality"} {
		errs = errors.Join(errs, d.session.Query("DROP KEYSPACE IF EXISTS "+keyspace+d.suffix).WithContext(ctx).Exec())
	}
	d.session.Close()
	t.Logf("cleaning up took %s", time.Since(begun).Round(100*time.Millisecond))
	if errs != nil {
		t.Errorf("cleaning up: %v", errs)
	}
}

func (d *real) producerURL() string { return d.url }

func (d *real) kept() kept { return d.keeps }

func (d *real) dump(t *testing.T) *dump.Dump {
	t.Helper()
	got, err := dump.Cassandra(t.Context(), d.session, d.suffix, d.keeps.features...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (d *real) clicks(t *testing.T, link string) (n int64) {
	t.Helper()
	query := d.session.Query("SELECT value FROM urlshortener"+d.suffix+".clickcounter WHERE short_url = ?", link)
	if err := query.WithContext(t.Context()).Scan(&n); err != nil && !errors.Is(err, gocql.ErrNotFound) {
		t.Fatal(err)
	}
	return n
}

// patiently is a context for what takes seconds.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
