package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// Everything is started before there are servers. Each process lives, is not ready, and says what it waits for, step by step: Cassandra, its
// schema, Kafka, topics. In the end all of them work, and every event is counted.
func TestStartingInAnyOrder(t *testing.T) {
	t.Parallel()
	kafkaAddress, host, port := stacktest.Require(t)
	ports, err := stack.FreePorts(4)
	if err != nil {
		t.Fatal(err)
	}
	// Kafka's clients ask the first address for the brokers', and go on there. The driver of Cassandra keeps the port that it was given.
	kafkaDoor, cassandraDoor := fmt.Sprint("127.0.0.1:", ports[0]), net.JoinHostPort(host, strconv.Itoa(ports[1]))
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	d := describe(t, byDefault, kafkaAddress, cluster, "FOOTFALL_KAFKA_BROKERS="+kafkaDoor, fmt.Sprint("FOOTFALL_CASSANDRA_PORT=", ports[1]), "FOOTFALL_LINKS_ENABLED=true")

	producerAdmin, readerAdmin := fmt.Sprint("127.0.0.1:", ports[2]), fmt.Sprint("127.0.0.1:", ports[3])
	with := func(name, binary string, env ...string) *process.Process {
		t.Helper()
		return start(t, process.Command{Name: name, Path: binaries.Path(t, binary), Env: append(d.env[:len(d.env):len(d.env)], env...), Dir: d.dir})
	}
	producer := with("producer", "producer", "FOOTFALL_HTTP_ADMIN_ADDR="+producerAdmin)
	reader := with("reader", "reader", "FOOTFALL_HTTP_ADMIN_ADDR="+readerAdmin)
	first, second := d.addConsumer(t), d.addConsumer(t)
	all := map[*process.Process]string{producer: "http://" + producerAdmin, reader: "http://" + readerAdmin, first.Process: first.url, second.Process: second.url}

	const noServer = "connection refused"
	for p, url := range all {
		waits(t, p, url, noServer, "connecting to Cassandra at "+host+", port "+strconv.Itoa(ports[1]))
	}
	opened(t, cassandraDoor, net.JoinHostPort(host, strconv.Itoa(port)))
	for p, url := range all {
		waits(t, p, url, "run `consumer migrate`")
	}
	d.migrate(t)
	ready(t, reader, "http://"+readerAdmin)
	delete(all, reader)
	for p, url := range all {
		waits(t, p, url, "waiting for Kafka", noServer, kafkaDoor)
	}
	opened(t, kafkaDoor, kafkaAddress)
	for p, url := range all {
		ready(t, p, url)
	}
	for _, p := range []*process.Process{producer, first.Process, second.Process} {
		if printed, err := p.Printed(); err != nil || strings.Count(printed, `"level":"WARN","msg":"waiting for`) < 2 || !strings.Contains(printed, `"msg":"the wait for Kafka`) {
			t.Errorf("%v, it does not say what it waited for:\n%s", err, printed)
		}
	}

	address, err := producer.Expect(patiently(t), producerListening)
	if err != nil {
		t.Fatal(err)
	}
	d.url = "http://" + address
	const n = 1000
	events := load.Make(41, n)
	want, _ := send(t, d, events, load.Order(41, len(events)), nil)
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))
}

// Six consumers start at once, on tables in which nothing is recorded yet: their transactions meet. None ends, and all of them count.
func TestSixConsumersStartAtOnce(t *testing.T) {
	t.Parallel()
	d := newReal(t, 0)
	var consumers []*process.Process
	for i := range 6 {
		consumers = append(consumers, start(t, process.Command{Name: fmt.Sprint("consumer", i), Path: binaries.Path(t, "consumer"), Env: d.env, Dir: d.dir}))
	}
	for _, p := range consumers {
		address, err := p.Expect(patiently(t), consumerReady)
		if err != nil {
			t.Fatal(err)
		}
		ready(t, p, "http://"+address)
		d.started = append(d.started, &consumer{Process: p, url: "http://" + address})
	}
	d.stable(t, 6)
	const n = 1000
	events := load.Make(42, n)
	want, _ := send(t, d, events, load.Order(42, len(events)), nil)
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))
	for _, c := range d.started {
		harness.Within(t, time.Minute, c.Name+" has partitions", func() error {
			got, err := process.Metrics(t.Context(), c.url)
			if err == nil && got[`footfall_partitions_owned{topic="`+d.Topics[0]+`"}`]+got[`footfall_partitions_owned{topic="`+d.Topics[1]+`"}`] != 2 {
				err = fmt.Errorf("not two of twelve: %v", got)
			}
			return err
		})
	}
}

// waits returns when a process says at url that it waits, with these words. It must be alive meanwhile.
func waits(t *testing.T, p *process.Process, url string, words ...string) {
	t.Helper()
	harness.Within(t, time.Minute, p.Name+" waits", func() error {
		if !p.Running() {
			t.Fatalf("it has ended\n%s", p.Tail(20))
		}
		status, body, err := look(t.Context(), url+"/readyz")
		if err != nil {
			return err
		}
		for _, word := range append(words, "waiting for ") {
			if status != http.StatusServiceUnavailable || !strings.Contains(body, word) {
				return fmt.Errorf("%d %s; want %q", status, body, word)
			}
		}
		return nil
	})
	if status, body, err := look(t.Context(), url+"/healthz"); err != nil || status != http.StatusOK {
		t.Errorf("%s is not alive: %v, %d %s", p.Name, err, status, body)
	}
}

// ready returns when a process says at url that it is ready.
func ready(t *testing.T, p *process.Process, url string) {
	t.Helper()
	harness.Within(t, time.Minute, p.Name+" is ready", func() error {
		status, body, err := look(t.Context(), url+"/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
}

func look(ctx context.Context, url string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), errors.Join(err, response.Body.Close())
}

// opened listens at door until the test ends, and passes connections on to target.
func opened(t *testing.T, door, target string) {
	t.Helper()
	listener, err := net.Listen("tcp", door)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go passOn(client, target)
		}
	}()
}

// passOn copies both ways until one side is closed.
func passOn(client net.Conn, target string) {
	server, err := net.Dial("tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
	}
	both.Go(func() { one(server, client) })
	both.Go(func() { one(client, server) })
	both.Wait()
}
