package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

// The counts move to another Cassandra while events come in, as docs/backups.md says: rebuild counts into it and compares, then consumers of the
// new tables take over. Every cell there is right.
func TestMoveToAnotherCassandra(t *testing.T) {
	t.Parallel()
	if os.Getenv("FOOTFALL_TEST_SERVERS") == "shared" {
		t.Skip("it starts a Cassandra of its own: make test-all runs it")
	}
	d := newReal(t, 1)
	const n = 60_000
	events, order := load.Make(93, n), load.Order(93, n)
	enough := make(chan struct{})
	var quiet sync.RWMutex // held: nothing is sent
	client := &load.Client{URL: d.producerURL(), Connections: 4, Stop: enough, Pace: func(int) {
		quiet.RLock()
		defer quiet.RUnlock()
		select {
		case <-enough:
		case <-time.After(10 * time.Millisecond):
		}
	}}
	sent := sendBehind(t, client, events, order)
	d.progress(t)

	node := stacktest.Cassandra(t, 1)[0]
	there := filepath.Join(d.dir, "there.yaml")
	if err := os.WriteFile(there, fmt.Appendf(nil, "cassandra:\n  hosts: [%s]\n  port: %d\n", node.Address, node.Port), 0o600); err != nil {
		t.Fatal(err)
	}
	suffix := d.suffix + "_there"
	move := func() (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // it makes a schema, too
		defer cancel()
		return process.Run(ctx, process.Command{Name: "rebuild" + unique(), Path: binaries.Path(t, "consumer"),
			Args: []string{"rebuild", "--keyspace-suffix", suffix, "--to", there}, Env: d.env, Dir: d.dir})
	}
	printed, err := move() // under load; it may not have compared keys that change all the time
	if !strings.Contains(printed, " 0 differ; ") {
		t.Fatalf("rebuild: %v\n%s", err, printed)
	}
	quiet.Lock()
	printed, err = move()
	quiet.Unlock()
	if err != nil || !strings.Contains(printed, " 0 differ; 0 keys were too busy to compare, 0 hold") || nothingCompared.MatchString(printed) {
		t.Fatalf("rebuild: %v\n%s", err, printed)
	}
	t.Log(last(printed))

	moved := *d
	moved.suffix, moved.Broker = suffix, broker.New(kafkaOf(d), d.Group+suffix, d.Dead, d.Topics...)
	moved.env = append(d.env[:len(d.env):len(d.env)], "FOOTFALL_CASSANDRA_HOSTS="+node.Address, "FOOTFALL_CASSANDRA_PORT="+strconv.Itoa(node.Port),
		"FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX="+suffix, "FOOTFALL_KAFKA_GROUP="+moved.Group)
	cluster := gocql.NewCluster(node.Address)
	cluster.Port = node.Port
	moved.connect(t, cluster)
	t.Cleanup(moved.session.Close)
	for _, c := range d.started {
		stop(t, c.Process)
	}
	moved.addConsumer(t)
	moved.progress(t)
	close(enough)
	want := sent().Oracle(events)
	moved.settle(t, want)
	equal(t, want.Cells(), moved.dump(t))
}

// kafkaOf is the address of the Kafka of a deployment.
func kafkaOf(d *real) string { return d.Client.Addr.String() }
