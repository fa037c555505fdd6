// Package doctor examines a deployment from the consumers' side: Kafka, Cassandra, what the tables record, the group, and the whole way of an
// event from the producer to a counter (canary.go). It changes nothing but the canary's counter.
//
// The checks reuse what consumers refuse for, in eventlog, cassandra and migrations. Each check first asks and then judges: the functions
// that judge do no I/O.
package doctor

import (
	"context"
	"log/slog"
	"time"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/doctor"
	"footfall/internal/doctor/kafkachecks"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// Options say what to examine.
type Options struct {
	Config configs.Consumer
	Plan   *models.Plan

	// Producer is the address of a producer that the canary is sent to, such as http://127.0.0.1:8080. Empty: no canary.
	Producer string
	// Expected: somebody named that producer, so it has to answer. Else it is a guess, and its absence is a warning.
	Expected bool
	// Key is the write key of the canary. Empty: none, for producers with access.open.
	Key string

	// Now is our clock. Default: time.Now.
	Now func() time.Time
}

// Names of the checks that others need.
const (
	checkCassandra   = "cassandra"
	checkSchema      = "schema"
	checkNodes       = "cassandra nodes"
	checkReplication = "replication"
	checkPartitions  = "partitions"
	checkPause       = "pause"
	checkVersions    = "consumer versions"
	checkGroup       = "group"
	checkOffsets     = "offsets"
)

// patient is what is examined, and what checks found out for those that need them.
type patient struct {
	Options
	kafka  kafkachecks.Cluster
	store  *cassandra.Store           // once checkCassandra is done
	log    *eventlog.Log              // once checkCassandra is done
	said   *overheard                 // what eventlog logs
	nodes  []cassandra.NodeState      // once checkNodes is done: those that answer
	known  []cassandra.NodeState      // all, also those that are down
	counts eventlog.Sources           // once checkPartitions is done
	paused string                     // once checkPause is done: by whom; empty: nobody
	places map[models.Partition]place // once checkOffsets is done
}

// Examine runs all checks. It returns an error if the configuration is wrong.
func Examine(ctx context.Context, o Options) (doctor.Report, error) {
	via, err := dial.New(o.Config.Kafka.KafkaClient)
	if err != nil {
		return doctor.Report{}, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t := o.Config.Kafka.Topics
	p := &patient{Options: o, said: &overheard{}, kafka: kafkachecks.Cluster{Via: via, Bases: []string{t.Clicks, t.Visits}, Others: []string{t.Dead}}}
	defer p.close()
	return doctor.Examine(ctx, "consumer", p.checks()), nil
}

func (p *patient) close() {
	if p.store != nil {
		p.store.Close()
	}
}

// checks are all of them in the order of causes: what comes first explains what comes later.
func (p *patient) checks() []doctor.Check {
	stored := []string{checkNodes}
	return append(p.kafka.Checks(), []doctor.Check{
		{Name: checkCassandra, Within: 7 * time.Second, Run: p.cassandra},
		{Name: checkSchema, Needs: []string{checkCassandra}, Run: p.schema},
		{Name: checkNodes, Needs: []string{checkCassandra}, Run: p.cassandraNodes},
		{Name: "durability", Needs: stored, Run: p.durability},
		{Name: checkReplication, Needs: []string{checkNodes, checkSchema}, Run: p.replication},
		{Name: "write timeout", Needs: stored, Run: p.writeTimeout},
		{Name: "clocks", Needs: []string{checkNodes, kafkachecks.Topics}, Run: p.clocks},
		{Name: "cleanup policy", Needs: []string{kafkachecks.Topics, checkCassandra}, Run: p.policy},
		{Name: "retention", Needs: []string{kafkachecks.Topics, checkCassandra}, Run: p.retention},
		{Name: checkPause, Needs: []string{checkSchema}, Run: p.pause},
		{Name: checkPartitions, Needs: []string{kafkachecks.Topics, checkSchema}, Run: p.partitions},
		{Name: checkOffsets, Needs: []string{checkPartitions}, Run: p.offsets},
		{Name: checkVersions, Needs: []string{checkPartitions}, Run: p.versions},
		{Name: checkGroup, Needs: []string{checkPartitions, checkPause}, Run: p.group},
		{Name: "lag", Needs: []string{checkOffsets}, Run: p.lag},
		{Name: "doubts", Needs: []string{checkPartitions}, Run: p.doubts},
		{Name: "guardrails", Needs: stored, Run: p.guardrails},
		{Name: "disk", Needs: stored, Run: p.disk},
		{Name: "dead letters", Needs: []string{kafkachecks.Topics}, Run: p.deadLetters},
		{Name: "canary", Needs: []string{kafkachecks.Acks, checkOffsets, checkVersions, checkGroup, checkReplication}, Within: canaryTime, Run: p.canary},
	}...)
}

// refused makes a fault of a refusal.
func refused(err error) doctor.Findings {
	return doctor.FromError(err, "see docs/runbook.md, What a consumer refuses")
}

// newLog makes the log of the tables. Asking it records nothing in them.
func (p *patient) newLog(db *cassandra.Store) (*eventlog.Log, error) {
	return eventlog.New(p.Config, store.ReadOnly{Store: db}, slog.New(p.said))
}
