package intake_test

import (
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/deployments/stack"
)

// broker is a Kafka that a test may kill and pause. The suites run on any; kfake_test.go and real_test.go run them on both kinds.
type broker interface {
	Addr() string
	Kill(t testing.TB)   // as a crash would; acknowledged events stay
	Start(t testing.TB)  // again, at the same address
	Pause(t testing.TB)  // connections stay open and silent
	Resume(t testing.TB) // undoes Pause
}

// fake is kfake: a broker in this process, with its data on disk so that it can come back.
type fake struct {
	port int
	dir  string

	cluster *kfake.Cluster
	gate    sync.RWMutex // held for writing while paused
}

func startFake(t testing.TB) *fake {
	t.Helper()
	ports, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{port: ports[0], dir: t.TempDir()}
	f.Start(t)
	t.Cleanup(func() { f.cluster.Close() })
	return f
}

func (f *fake) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)) }

func (f *fake) Start(t testing.TB) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.Ports(f.port), kfake.DataDir(f.dir), kfake.ListenFn(
		func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			return gatedListener{l, &f.gate}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	f.cluster = cluster
}

func (f *fake) Kill(testing.TB)   { f.cluster.Close() }
func (f *fake) Pause(testing.TB)  { f.gate.Lock() }
func (f *fake) Resume(testing.TB) { f.gate.Unlock() }

// gatedListener accepts connections that pass no data while the gate is closed, like those of a process stopped with SIGSTOP.
type gatedListener struct {
	net.Listener
	gate *sync.RWMutex
}

func (l gatedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return gatedConn{c, l.gate}, err
}

type gatedConn struct {
	net.Conn
	gate *sync.RWMutex
}

func (c gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.gate.RLock()
	defer c.gate.RUnlock()
	return n, err
}
