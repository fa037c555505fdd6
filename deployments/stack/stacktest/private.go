package stacktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"footfall/deployments/stack"
)

// startTimeout is long enough for a machine that runs other tests as well.
const startTimeout = 4 * time.Minute

// servers is an environment variable. If it is "shared", tests that start servers of their own are skipped, also with CI=true: the run takes
// minutes then.
const servers = "FOOTFALL_TEST_SERVERS"

// The heaps are enough for a test's data, and small enough for several servers at once.
const (
	heapMB   = 512
	brokerMB = 320 // of each broker of a cluster
)

// Kafka starts a broker of the test's own on a free port. The test may Kill, Pause and Start it. When the test ends, the broker is killed and
// its data removed. configure may change the value before the start. If this machine cannot run the stack, the test is skipped, or fails with
// CI=true. With -short it is always skipped.
func Kafka(t testing.TB, configure ...func(*stack.Kafka)) *stack.Kafka {
	t.Helper()
	return Brokers(t, 1, configure...)[0]
}

// Brokers is Kafka for a cluster of n brokers, each of which is a controller too. They answer when it returns.
func Brokers(t testing.TB, n int, configure ...func(*stack.Kafka)) []*stack.Kafka {
	t.Helper()
	available(t)
	ports, err := stack.FreePorts(2 * n)
	if err != nil {
		t.Fatal(err)
	}
	var cluster *stack.Cluster
	heap := heapMB
	if n > 1 {
		cluster, heap = &stack.Cluster{ID: stack.NewClusterID(), Controllers: ports[n:]}, brokerMB
	}
	var brokers []*stack.Kafka
	for i := range n {
		k := &stack.Kafka{Dir: t.TempDir(), Jars: jars(t), Port: ports[i], Node: i + 1, Cluster: cluster, HeapMB: heap, Tether: true, Logf: t.Logf}
		for _, f := range configure {
			f(k)
		}
		t.Cleanup(func() { end(t, k.Kill, k.Log()) })
		brokers = append(brokers, k)
	}
	start(t, func(ctx context.Context) error { return stack.StartAll(ctx, brokers...) })
	return brokers
}

// Cassandra starts a cluster of the test's own on free ports: n nodes at 127.0.0.1, 127.0.0.2, …, which see each other when it returns. The
// test may Kill, Pause and Start them. When the test ends, they are killed and their data removed. configure may change each value before its
// start. If this machine cannot run the stack, the test is skipped, or fails with CI=true. With -short it is always skipped.
func Cassandra(t testing.TB, n int, configure ...func(*stack.Cassandra)) []*stack.Cassandra {
	t.Helper()
	available(t)
	var addresses []string
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("127.0.0.%d", i+1))
	}
	ports, err := stack.FreePorts(2, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*stack.Cassandra
	for _, a := range addresses {
		c := &stack.Cassandra{Dir: t.TempDir(), Jars: jars(t), Address: a, Port: ports[0], StoragePort: ports[1],
			Seeds: addresses[:1], HeapMB: heapMB, Tether: true, Logf: t.Logf}
		for _, f := range configure {
			f(c)
		}
		t.Cleanup(func() { end(t, c.Kill, c.Log()) })
		start(t, c.Start)
		nodes = append(nodes, c)
	}
	if n > 1 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, c := range nodes {
			if err := c.AwaitUp(ctx, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return nodes
}

func available(t testing.TB) {
	t.Helper()
	notShort(t)
	if os.Getenv(servers) == "shared" {
		t.Skipf("this test starts servers of its own, and %s is shared: make test-all runs it", servers)
	}
	if err := stack.Available(t.Context()); err != nil {
		skip(t, err)
	}
}

// jars is the folder that `make up` fills, so that tests do not download the jars again.
func jars(t testing.TB) string { return filepath.Join(root(t), ".stack", "jars") }

func start(t testing.TB, start func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := start(ctx)
	if errors.Is(err, stack.ErrUnavailable) {
		skip(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// end kills a server. If the test failed, it prints the end of the server's log, which is removed with the test's folder.
func end(t testing.TB, kill func() error, log string) {
	if err := kill(); err != nil {
		t.Error(err)
	}
	if !t.Failed() {
		return
	}
	if b, err := os.ReadFile(log); err == nil {
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		t.Logf("end of %s:\n%s", log, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
}
