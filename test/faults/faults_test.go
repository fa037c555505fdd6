package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
)

// fault is one line of the table.
type fault struct {
	name  string // of the subtest
	title string // in the table
	short bool   // part of the short form
	run   func(t *testing.T, s servers, r *row)
}

// faults share one broker and one Cassandra node; three-nodes starts its own.
var faults = []fault{
	{"consumer-killed", "kill -9 of a consumer in the midst of a flush", true, consumerKilled},
	{"zombie", "consumer paused in the midst of a flush until another took over", true, zombie},
	{"poison", "garbage straight onto the topic", true, poison},
	{"cassandra-paused", "Cassandra paused for 20 s in the midst of a flush", true, cassandraPaused},
	{"cassandra-killed", "kill -9 of Cassandra (commitlog_sync group), tables flushed at random before", true, cassandraKilled},
	{"paused-and-killed", "Cassandra paused, the consumer killed, Cassandra resumed", false, pausedAndKilled},
	{"replies-cut", "Cassandra's answers lost, then the connection", false, repliesCut},
	{"kafka-killed", "kill -9 of Kafka", false, kafkaKilled},
	{"producer-killed", "kill -9 of the producer with requests under way", false, producerKilled},
	{"duplicates", "the same ids sent again by clients and by a writer", false, duplicates},
	{"rebalances", "a consumer joins or leaves every 3 s for a minute", false, rebalances},
	{"flap", "connections to Cassandra lost again and again, in the midst of flushes and right after", false, flapping},
	{"grow", "both topics get more partitions, kill -9 of a consumer meanwhile", false, grown},
	{"three-nodes", "RF 3: one of three Cassandra nodes killed, one paused, in turn", false, threeNodes},
	{"control-ledger", "no ledger; consumer killed", false, controlLedger},
	{"control-retry", "blind retries of writes of unknown outcome; replies cut", false, controlRetry},
	{"control-driver", "a retry policy of the driver; answers lost", false, controlDriver},
	{"control-visitors", "visitors counted before their rows are stored; inserts lost", false, controlVisitors},
	{"control-names", "names listed some time after their counters; consumer killed", false, controlNames},
	// Last, since it leaves the shared node with commitlog_sync periodic.
	{"cassandra-periodic", "kill -9 of Cassandra with commitlog_sync periodic (not promised)", false, cassandraPeriodic},
}

// counterTimeout is Cassandra's counter_write_request_timeout, here the same as for other writes. A successor waits this long before it
// counts. Cassandra's default is 5 s.
const counterTimeout = 2 * time.Second

func TestFaults(t *testing.T) { play(t, faults, 1) }

// TestBrokers is TestFaults with three brokers.
func TestBrokers(t *testing.T) { play(t, onThreeBrokers, 3) }

// results are those of the whole run.
var results report

// play runs faults, one after the other, on a Kafka of so many brokers and one Cassandra node.
func play(t *testing.T, list []fault, brokers int) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes minutes: not with -short")
	}
	if !*all {
		list = slices.DeleteFunc(slices.Clone(list), func(f fault) bool { return !f.short })
	}
	if len(list) == 0 {
		t.Skip("none of these faults is part of the short form")
	}
	s := servers{brokers: stacktest.Brokers(t, brokers), nodes: stacktest.Cassandra(t, 1, func(c *stack.Cassandra) { c.CounterTimeout = counterTimeout })}
	before := len(results)
	for _, f := range list {
		t.Run(f.name, func(t *testing.T) {
			r := &row{fault: f.title, control: strings.HasPrefix(f.name, "control-")}
			results = append(results, r)
			defer func() { r.failed = t.Failed() }()
			f.run(t, s, r)
			t.Logf("%+v", *r)
		})
		results.save(t) // after each fault, so that an aborted run leaves its table
	}
	fmt.Print("\n" + results[before:].String() + "\n")
}

// times is how often a fault is repeated: whole times with -faults.all, else short times.
func times(whole, short int) int {
	if *all {
		return whole
	}
	return short
}
