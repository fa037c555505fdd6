package stack

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed cassandra-pom.xml
var cassandraPom string

//go:embed cassandra.yaml.tmpl
var cassandraYAML string

//go:embed cassandra-logback.xml
var cassandraLogging []byte

//go:embed cassandra-jvm.options
var cassandraOptions []byte

// Cassandra is one node. A cluster is several values with a Dir and an Address
// each (127.0.0.1, 127.0.0.2, …), the same ports and the same Seeds; start them
// one after the other, before there is data, and call AwaitUp.
//
// Start may be called from several goroutines and processes; one starts, the
// others wait. The other methods may be called at any time.
type Cassandra struct {
	// Dir holds the node's files. Required; one node per Dir.
	Dir string
	// Jars holds the class paths of all versions. Default Dir/jars. Point
	// several nodes at one folder to fetch once.
	Jars string
	// Address the node listens on, for clients and for other nodes. Default
	// 127.0.0.1.
	Address string
	// Port clients connect to. Default 9042.
	Port int
	// StoragePort is where nodes talk to each other, the same in a cluster.
	// Default 17000 (not Cassandra's 7000, which macOS takes).
	StoragePort int
	// Seeds are the addresses a new node asks for the cluster. Default: itself.
	Seeds []string
	// HeapMB is the Java heap. Default 2048; 512 will do for a node of a test.
	HeapMB int
	// CommitlogSync is group, batch or periodic. Default group: with periodic,
	// Cassandra's own default, a crash loses acknowledged writes.
	CommitlogSync string
	// Secure makes the node ask for TLS and a login. Default: neither.
	Secure *Secure
	// CounterTimeout is how long the node lets a counter write take (whole
	// milliseconds). Default: Cassandra's own, 5 seconds.
	CounterTimeout time.Duration
	// Tether kills the node when the process that started it ends.
	// Default: it goes on running.
	Tether bool
	// Logf gets progress lines. Default: none.
	Logf func(format string, args ...any)
}

// Addr is the node's host:port for clients.
func (c *Cassandra) Addr() string {
	d := c.withDefaults()
	return net.JoinHostPort(d.Address, strconv.Itoa(d.Port))
}

// Fetch downloads the jars unless they are there; Start does so too. The first time it takes minutes. The error wraps ErrUnavailable if the
// jars cannot be downloaded.
func (c *Cassandra) Fetch(ctx context.Context) error {
	d := c.withDefaults()
	_, err := d.product().fetch(ctx, d.Jars, d.Logf)
	return err
}

// Start starts the node with the data it had, and returns when it answers, or at once if it already does. The error has the end of the node's
// log. It wraps ErrUnavailable if Java or the jars are missing and cannot be downloaded. If ctx ends first, the node is killed.
func (c *Cassandra) Start(ctx context.Context) error {
	d := c.withDefaults()
	l := launch{process: d.process(), tether: d.Tether, logf: d.Logf,
		ports: map[int]string{d.Port: d.Address, d.StoragePort: d.Address},
		ask:   func(ctx context.Context) error { return askNode(ctx, d.Address, d.Port, d.Secure) },
		line:  d.commandLine}
	if err := l.start(ctx); err != nil {
		if _, major, _ := findJava(ctx); major > 17 {
			return fmt.Errorf("starting cassandra: %w\nCassandra 5.0 needs Java 17, and this is Java %d: set JAVA_HOME", err, major)
		}
		return fmt.Errorf("starting cassandra: %w", err)
	}
	return nil
}

// Stop sends SIGTERM, and kills the node if it has not ended after 30 seconds or when ctx ends. If it does not run, that is no error.
func (c *Cassandra) Stop(ctx context.Context) error { return c.process().stop(ctx, 30*time.Second) }

// Kill ends the node as a crash would (SIGKILL) and returns when it is gone.
func (c *Cassandra) Kill() error { return c.process().kill() }

// Pause stops the node's threads (SIGSTOP); its sockets stay open and silent.
// ErrNotRunning if it does not run.
func (c *Cassandra) Pause() error { return c.process().signal(syscall.SIGSTOP) }

// Resume undoes Pause (SIGCONT). ErrNotRunning if it does not run.
func (c *Cassandra) Resume() error { return c.process().signal(syscall.SIGCONT) }

// PID is the node's process id, or ErrNotRunning.
func (c *Cassandra) PID() (int, error) { return c.process().pid() }

// Log is the file the node's output goes to.
func (c *Cassandra) Log() string { return c.process().logFile() }

// Wipe removes the node's data, configuration and log, not the jars. It
// refuses while the node runs.
func (c *Cassandra) Wipe() error { return c.process().wipe() }

func (c *Cassandra) process() process { return process{name: "cassandra", dir: absolute(c.Dir)} }

func (c *Cassandra) product() product {
	return product{name: "cassandra", version: CassandraVersion, pom: cassandraPom}
}

func (c *Cassandra) home() string { return filepath.Join(absolute(c.Dir), "cassandra") }

func (c *Cassandra) withDefaults() *Cassandra {
	d := *c
	d.Dir = absolute(d.Dir)
	if d.Jars == "" {
		d.Jars = filepath.Join(d.Dir, "jars")
	}
	d.Jars = absolute(d.Jars)
	if d.Address == "" {
		d.Address = loopback
	}
	if d.Port == 0 {
		d.Port = 9042
	}
	if d.StoragePort == 0 {
		d.StoragePort = 17000
	}
	if len(d.Seeds) == 0 {
		d.Seeds = []string{d.Address}
	}
	if d.HeapMB == 0 {
		d.HeapMB = 2048
	}
	if d.CommitlogSync == "" {
		d.CommitlogSync = "group"
	}
	if d.Logf == nil {
		d.Logf = nop
	}
	return &d
}

// seeds is the list in the format of cassandra.yaml.
func (c *Cassandra) seeds() string {
	var s []string
	for _, a := range c.Seeds {
		s = append(s, net.JoinHostPort(a, strconv.Itoa(c.StoragePort)))
	}
	return strings.Join(s, ",")
}
