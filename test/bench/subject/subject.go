// Package subject runs the footfall that a bench measures, as an operator would: its tables, its topics and its processes. It configures
// them in the environment, as far as a version knows the settings.
package subject

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/test/bench/workload"
	"footfall/test/e2e/process"
)

// Place says where the servers are, and which topic and tables are one's own.
type Place struct {
	Broker string
	Topic  string
	Clicks bool // Topic has clicks; else visits
	Host   string
	Port   int
	Suffix string // of the keyspaces
	LRU    int    // visitors.lru; 0: the default
}

// Topics are those of a place: one is used, the others exist because a consumer wants them.
func (p Place) Topics() configs.Topics {
	empty := p.Topic + "-empty"
	if p.Clicks {
		return configs.Topics{Clicks: p.Topic, Visits: empty, Dead: p.Topic + "-dead"}
	}
	return configs.Topics{Clicks: empty, Visits: p.Topic, Dead: p.Topic + "-dead"}
}

func (p Place) topics() []string {
	t := p.Topics()
	return []string{t.Clicks, t.Visits, t.Dead}
}

// EnsureTopics makes the topics of a place and waits until they can be used.
func (p Place) EnsureTopics(ctx context.Context) error {
	if err := topics.Ensure(ctx, dial.Plain(p.Broker), p.topics(), workload.Partitions, 1, true); err != nil {
		return err
	}
	return workload.Writable(ctx, p.Broker, p.Topic)
}

// DeleteTopics removes them.
func (p Place) DeleteTopics(ctx context.Context) error {
	return workload.Delete(ctx, p.Broker, p.topics()...)
}

// Drop removes the tables of a place.
func (p Place) Drop(ctx context.Context, session *gocql.Session) (err error) {
	for _, keyspace := range []string{"footfall", "urlshortener", "cardinality"} {
		err = errors.Join(err, session.Query("DROP KEYSPACE IF EXISTS "+keyspace+p.Suffix).WithContext(ctx).Exec())
	}
	return err
}

func (p Place) env() []string {
	t := p.Topics()
	return []string{
		"FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_KAFKA_BROKERS=" + p.Broker,
		"FOOTFALL_KAFKA_TOPICS_CLICKS=" + t.Clicks, "FOOTFALL_KAFKA_TOPICS_VISITS=" + t.Visits, "FOOTFALL_KAFKA_TOPICS_DEAD=" + t.Dead,
	}
}

func (p Place) consumerEnv(group string) []string {
	env := append(p.env(), "FOOTFALL_KAFKA_GROUP="+group, "FOOTFALL_CASSANDRA_HOSTS="+p.Host,
		"FOOTFALL_CASSANDRA_PORT="+strconv.Itoa(p.Port), "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX="+p.Suffix,
		"FOOTFALL_METRICS="+strings.Join(workload.Plan().Metrics(), ","))
	if p.LRU > 0 {
		env = append(env, "FOOTFALL_VISITORS_LRU="+strconv.Itoa(p.LRU))
	}
	return env
}

func (p Place) producerEnv() []string {
	return append(p.env(), "FOOTFALL_ACCESS_OPEN=true", "FOOTFALL_LIMITS_NEW_KEYS_PER_MINUTE=0", "FOOTFALL_LIMITS_NEW_VISITORS_PER_MINUTE=0")
}

// Version is one footfall.
type Version struct {
	Bin      string   // directory of its binaries
	Dir      string   // directory of logs
	Settings Settings // that it knows; nil: all
}

// admin is set for every process, unless a version does not know it.
const admin = "FOOTFALL_HTTP_ADMIN_ADDR"

// command is one of the version's binaries with the settings that it knows.
func (v Version) command(name, binary string, env []string, args ...string) process.Command {
	return process.Command{
		Name: name, Path: filepath.Join(v.Bin, binary), Args: args, Env: v.Settings.of(env), Dir: v.Dir, NoAdmin: v.Settings != nil && !v.Settings[admin],
	}
}

// Migrate makes the tables of a place.
func (v Version) Migrate(ctx context.Context, p Place) error {
	_, err := process.Run(ctx, v.command("migrate"+p.Suffix, "consumer", p.consumerEnv("none"), "migrate"))
	return err
}

// Replica is one consumer process.
type Replica struct {
	*process.Process
	url string
}

var listening = regexp.MustCompile(`"consumer started","addr":"([^"]+)"`)

// StartConsumer starts the i-th consumer of a group and waits until it listens.
func (v Version) StartConsumer(ctx context.Context, p Place, group string, i int) (*Replica, error) {
	started, err := process.Start(v.command(fmt.Sprintf("consumer%s-%d", p.Suffix, i), "consumer", p.consumerEnv(group)))
	if err != nil {
		return nil, err
	}
	address, err := started.Expect(ctx, listening)
	if err != nil {
		return nil, err
	}
	return &Replica{started, "http://" + address}, nil
}

// ProducerListening matches what a producer prints once it listens; those up to version 0.5 said it in other words.
var ProducerListening = regexp.MustCompile(`"(?:listening|the door is open)","addr":"([^"]+)"`)

// StartProducer starts a producer and returns its address. It has no caps on new names and visitors, which one sender would reach.
func (v Version) StartProducer(ctx context.Context, p Place) (*process.Process, string, error) {
	started, err := process.Start(v.command("producer"+p.Suffix, "producer", p.producerEnv()))
	if err != nil {
		return nil, "", err
	}
	address, err := started.Expect(ctx, ProducerListening)
	return started, address, err
}
