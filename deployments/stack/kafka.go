package stack

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

//go:embed kafka-pom.xml
var kafkaPom string

//go:embed server.properties.tmpl
var kafkaProperties string

//go:embed kafka-log4j2.xml
var kafkaLogging []byte

// Kafka is one broker, which is a controller too, on 127.0.0.1. A cluster is
// several values with a Dir, a Port and a Node each and the same Cluster; start
// them at the same time: a broker answers once most of them run.
//
// Start may be called from several goroutines and processes; one starts, the
// others wait. Kill, Pause, Resume, Stop and PID may be called at any time.
type Kafka struct {
	// Dir holds the broker's files. Required; one broker per Dir.
	Dir string
	// Jars holds the class paths of all versions. Default Dir/jars. Point
	// several brokers at one folder to fetch once.
	Jars string
	// Port clients connect to. Default 9092.
	Port int
	// Node is the broker's number in its cluster, from 1. Default 1.
	Node int
	// Cluster is what the brokers of a cluster share. Default: this broker is
	// alone, with one replica of everything.
	Cluster *Cluster
	// HeapMB is the Java heap. Default 1024; 320 will do for one of three.
	HeapMB int
	// Secure adds a listener that asks for TLS and a login. Default: none.
	Secure *Secure
	// Tether kills the broker when the process that started it ends.
	// Default: it goes on running.
	Tether bool
	// Logf gets progress lines. Default: none.
	Logf func(format string, args ...any)
}

// Cluster is what the brokers of a cluster share. Topics get a replica on each of them, on three at the most, and Kafka
// acknowledges to acks=all what most of these have.
type Cluster struct {
	// ID is what NewClusterID made.
	ID string
	// Controllers are the ports on which the brokers agree with each other: the
	// first is that of node 1, and so on.
	Controllers []int
}

// replicas is how many a topic has, and how many of them must be in sync for a write.
func (c *Cluster) replicas() (all, least int) {
	all = min(len(c.Controllers), 3)
	return all, all/2 + 1
}

// voters is the list of controllers in the format of server.properties.
func (c *Cluster) voters() string {
	var s []string
	for i, port := range c.Controllers {
		s = append(s, fmt.Sprintf("%d@%s:%d", i+1, loopback, port))
	}
	return strings.Join(s, ",")
}

// Addr is the broker's host:port.
func (k *Kafka) Addr() string {
	return net.JoinHostPort(loopback, strconv.Itoa(k.withDefaults().Port))
}

// Fetch downloads the jars unless they are there; Start does so too. The first time it takes minutes. The error wraps ErrUnavailable if the
// jars cannot be downloaded.
func (k *Kafka) Fetch(ctx context.Context) error {
	d := k.withDefaults()
	_, err := d.product().fetch(ctx, d.Jars, d.Logf)
	return err
}

// Start starts the broker with the data it had, and returns when it answers, or at once if it already does. The error has the end of the
// broker's log. It wraps ErrUnavailable if Java or the jars are missing and cannot be downloaded. If ctx ends first, the broker is killed.
func (k *Kafka) Start(ctx context.Context) error {
	d := k.withDefaults()
	ports := map[int]string{d.Port: loopback}
	if d.Secure != nil {
		ports[d.Secure.Port] = loopback
	}
	if d.Cluster != nil {
		ports[d.Cluster.Controllers[d.Node-1]] = loopback
	}
	l := launch{process: d.process(), tether: d.Tether, logf: d.Logf, ports: ports,
		ask:  func(ctx context.Context) error { return AskKafka(ctx, d.Addr()) },
		line: d.commandLine}
	if err := l.start(ctx); err != nil {
		return fmt.Errorf("starting kafka: %w", err)
	}
	return nil
}

// StartAll is Start for all brokers of a cluster, at the same time. If one of them does not start, those that it started are killed.
func StartAll(ctx context.Context, brokers ...*Kafka) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, k := range brokers {
		all.Go(func() error { return k.Start(ctx) })
	}
	return all.Wait()
}

// Stop sends SIGTERM, and kills the broker if it has not ended after 30 seconds or when ctx ends. If it does not run, that is no error.
func (k *Kafka) Stop(ctx context.Context) error { return k.process().stop(ctx, 30*time.Second) }

// Kill ends the broker as a crash would (SIGKILL) and returns when it is gone.
func (k *Kafka) Kill() error { return k.process().kill() }

// Pause stops the broker's threads (SIGSTOP); its sockets stay open and silent.
// ErrNotRunning if it does not run.
func (k *Kafka) Pause() error { return k.process().signal(syscall.SIGSTOP) }

// Resume undoes Pause (SIGCONT). ErrNotRunning if it does not run.
func (k *Kafka) Resume() error { return k.process().signal(syscall.SIGCONT) }

// PID is the broker's process id, or ErrNotRunning.
func (k *Kafka) PID() (int, error) { return k.process().pid() }

// Log is the file the broker's output goes to.
func (k *Kafka) Log() string { return k.process().logFile() }

// Wipe removes the broker's data, configuration and log, not the jars. It
// refuses while the broker runs.
func (k *Kafka) Wipe() error { return k.process().wipe() }

func (k *Kafka) process() process { return process{name: "kafka", dir: absolute(k.Dir)} }

func (k *Kafka) product() product {
	return product{name: "kafka", version: KafkaVersion, pom: kafkaPom}
}

func (k *Kafka) withDefaults() *Kafka {
	d := *k
	d.Dir = absolute(d.Dir)
	if d.Jars == "" {
		d.Jars = filepath.Join(d.Dir, "jars")
	}
	d.Jars = absolute(d.Jars)
	if d.Port == 0 {
		d.Port = 9092
	}
	if d.Node == 0 {
		d.Node = 1
	}
	if d.HeapMB == 0 {
		d.HeapMB = 1024
	}
	if d.Logf == nil {
		d.Logf = nop
	}
	return &d
}

// commandLine writes the configuration, formats the data folder if it is new, and returns the broker's command line.
func (k *Kafka) commandLine(ctx context.Context) ([]string, error) {
	jars, err := k.product().fetch(ctx, k.Jars, k.Logf)
	if err != nil {
		return nil, err
	}
	java, _, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(k.Dir, "kafka")
	config := filepath.Join(home, "server.properties")
	logging := filepath.Join(home, "log4j2.xml")
	cluster := k.Cluster
	if cluster == nil {
		controller, err := FreePorts(1)
		if err != nil {
			return nil, err
		}
		cluster = &Cluster{NewClusterID(), controller}
	}
	files := map[string][]byte{logging: kafkaLogging}
	pair := filepath.Join(home, "pair.pem")
	if k.Secure != nil {
		if files[pair], err = k.Secure.pair(); err != nil {
			return nil, err
		}
	}
	if files[config], err = k.properties(cluster, filepath.Join(home, "data"), pair); err != nil {
		return nil, err
	}
	if err := writeFiles(files); err != nil {
		return nil, err
	}
	common := []string{java, "-cp", filepath.Join(jars, "*"), "-Duser.timezone=UTC",
		"-Dlog4j2.configurationFile=file://" + logging}
	if err := format(ctx, common, home, config, cluster.ID); err != nil {
		return nil, err
	}
	line := append(common, heap(k.HeapMB)...)
	return append(line, "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError", "kafka.Kafka", config), nil
}

// properties renders server.properties.
func (k *Kafka) properties(cluster *Cluster, data, pair string) ([]byte, error) {
	replicas, least := cluster.replicas()
	return render(kafkaProperties, map[string]any{
		"Node": k.Node, "Voters": cluster.voters(), "Port": k.Port, "ControllerPort": cluster.Controllers[k.Node-1],
		"Replicas": replicas, "InSync": least, "Data": data, "Secure": k.Secure, "Pair": pair})
}

// format gives a new data folder its cluster id. The file that says so is written last, so that an interrupted format is repeated.
func format(ctx context.Context, common []string, home, config, clusterID string) error {
	note := filepath.Join(home, "formatted")
	if exists(note) {
		return nil
	}
	args := append(slices.Clone(common[1:]), "-Xmx256m", "kafka.tools.StorageTool", "format",
		"--cluster-id", clusterID, "--config", config, "--ignore-formatted")
	out, err := exec.CommandContext(ctx, common[0], args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("formatting kafka's data folder: %w:\n%s", err, out)
	}
	if err := os.WriteFile(note, out, 0o644); err != nil {
		return fmt.Errorf("noting that kafka's data folder is formatted: %w", err)
	}
	return nil
}

// NewClusterID makes a random id in Kafka's format, without a dash at the beginning: the command line would take that for an option.
func NewClusterID() string {
	for {
		b := make([]byte, 16)
		_, _ = rand.Read(b) // never fails
		if id := base64.RawURLEncoding.EncodeToString(b); !strings.HasPrefix(id, "-") {
			return id
		}
	}
}
