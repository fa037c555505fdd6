package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"footfall/consumer/cassandra"
	"footfall/internal/cql"
	"footfall/internal/doctor"
)

func (p *patient) cassandra(ctx context.Context) []doctor.Finding {
	var err error
	p.store, err = cassandra.Connect(ctx, p.Config.Cassandra, p.Plan)
	if err != nil {
		return one(unreachable(err))
	}
	if p.log, err = p.newLog(p.store); err != nil {
		return refused(err)
	}
	if err := p.store.CheckDataCentres(ctx, p.Config.Cassandra.LocalDC); err != nil {
		return refused(err)
	}
	return one(doctor.Fine("Cassandra answers"))
}

// unreachable says why Cassandra cannot be spoken to. The driver's errors have no types at this point.
func unreachable(err error) doctor.Finding {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(err.Error()), text) })
	}
	switch {
	case has("password are incorrect", "authentication", "unauthorized"):
		return doctor.Faulty("set cassandra.username and cassandra.password as Cassandra has them (FOOTFALL_CASSANDRA_PASSWORD)", "Cassandra refuses the login: %v", err)
	case has("x509", "tls:", "certificate"):
		return doctor.Faulty("mend cassandra.tls: the authority that signed the nodes' certificates, and our own certificate if nodes ask for one",
			"Cassandra cannot be spoken to by TLS: %v", err)
	}
	return doctor.Faulty("start Cassandra, or mend cassandra.hosts, cassandra.port, cassandra.local_dc and cassandra.tls", "Cassandra does not answer: %v", err)
}

func (p *patient) schema(ctx context.Context) []doctor.Finding {
	if err := p.store.CheckSchema(ctx); err != nil {
		return refused(err)
	}
	return one(doctor.Fine("the tables are those of this version and configuration"))
}

func (p *patient) cassandraNodes(ctx context.Context) (findings []doctor.Finding) {
	nodes, err := p.store.Examine(ctx, p.Config.Cassandra.LocalDC, p.Now)
	if err != nil {
		return one(unreachable(err))
	}
	p.known = nodes
	for _, n := range nodes {
		if n.Err != nil {
			findings = append(findings, doctor.Doubtful("start the node, and look at its log", "Cassandra's node %s does not answer: %v", n.Address, n.Err))
			continue
		}
		p.nodes = append(p.nodes, n)
	}
	if len(p.nodes) == 0 {
		return one(doctor.Faulty("start Cassandra's nodes, or mend cassandra.local_dc", "none of Cassandra's %d nodes answers in data centre %q", len(nodes),
			p.Config.Cassandra.LocalDC))
	}
	releases := map[string]bool{}
	for _, n := range p.nodes {
		releases[n.Release] = true
	}
	if len(releases) > 1 {
		findings = append(findings, doctor.Doubtful("finish the upgrade of Cassandra", "nodes are of different versions: %s",
			strings.Join(slices.Sorted(maps.Keys(releases)), ", ")))
	}
	if len(findings) == 0 {
		findings = one(doctor.Fine("all %d nodes answer, version %s", len(p.nodes), p.nodes[0].Release))
	}
	return findings
}

func (p *patient) durability(context.Context) []doctor.Finding { return judgeDurability(p.nodes) }

func judgeDurability(nodes []cassandra.NodeState) (findings []doctor.Finding) {
	for _, n := range nodes {
		if !n.Durable() {
			findings = append(findings, doctor.Faulty("set commitlog_sync: group in the node's cassandra.yaml, and restart it",
				"commitlog_sync of Cassandra's node %s is %q: a crash of the node costs acknowledged counts", n.Address, n.CommitlogSync))
		}
	}
	if len(findings) == 0 {
		findings = one(doctor.Fine("commitlog_sync is group or batch on every node"))
	}
	return findings
}

func (p *patient) replication(ctx context.Context) []doctor.Finding {
	now, err := p.store.Replication(ctx)
	if err != nil {
		return refused(err)
	}
	return judgeReplication(now, p.known, p.Config.Cassandra.LocalDC)
}

// judgeReplication says whether a quorum of replicas can answer, now and after the loss of a node.
func judgeReplication(now cql.Replication, nodes []cassandra.NodeState, localDC string) []doctor.Finding {
	const alter = "ALTER KEYSPACE, and repair: docs/operations.md, Changing the replication"
	centres := map[string]bool{}
	for _, n := range nodes {
		centres[n.DataCentre] = true
	}
	for _, keyspace := range slices.Sorted(maps.Keys(now)) {
		of := now[keyspace]
		simple := strings.HasSuffix(of["class"], "SimpleStrategy")
		if simple && len(centres) > 1 {
			return one(doctor.Doubtful(alter, "keyspace %s has SimpleStrategy, which does not know the data centres %s", keyspace,
				strings.Join(slices.Sorted(maps.Keys(centres)), ", ")))
		}
		for dc := range centres {
			factor := of[dc]
			if simple {
				factor = of["replication_factor"]
			}
			if f := judgeFactor(keyspace, dc, factor, nodes); f != nil && (localDC == "" || dc == localDC) {
				if f.Remedy == "" {
					f.Remedy = alter
				}
				return one(*f)
			}
		}
	}
	return one(doctor.Fine("the replication is as recorded: %s", now))
}

// judgeFactor judges the replicas of a keyspace in a data centre; nil: nothing is wrong.
func judgeFactor(keyspace, dc, factor string, nodes []cassandra.NodeState) *doctor.Finding {
	total, down := 0, 0
	for _, n := range nodes {
		if n.DataCentre != dc {
			continue
		}
		if total++; n.Err != nil {
			down++
		}
	}
	replicas, err := strconv.Atoi(strings.Split(factor, "/")[0])
	if err != nil || replicas < 1 {
		f := doctor.Faulty("", "keyspace %s has no replicas in data centre %s, where consumers ask for a quorum", keyspace, dc)
		return &f
	}
	quorum := replicas/2 + 1
	var f doctor.Finding
	switch {
	case total < quorum:
		f = doctor.Faulty("", "keyspace %s has %d replicas, but data centre %s has %d nodes: a quorum is %d", keyspace, replicas, dc, total, quorum)
	case down > replicas-quorum:
		f = doctor.Faulty("start the nodes that are down", "%d of %d nodes of data centre %s are down: a quorum of %d replicas of keyspace %s cannot answer for all rows", down,
			total, dc, quorum, keyspace)
	case total > 1 && replicas == quorum:
		f = doctor.Doubtful("", "keyspace %s has %d replicas in data centre %s: nothing is counted while one of its %d nodes is down; want 3", keyspace, replicas, dc, total)
	case total < replicas:
		f = doctor.Doubtful("add nodes", "keyspace %s has %d replicas, but data centre %s has %d nodes", keyspace, replicas, dc, total)
	default:
		return nil
	}
	return &f
}

func (p *patient) writeTimeout(context.Context) []doctor.Finding {
	return judgeTimeouts(p.nodes, p.Config.Cassandra.Timeout)
}

func judgeTimeouts(nodes []cassandra.NodeState, ours time.Duration) []doctor.Finding {
	least, most := nodes[0], nodes[0]
	for _, n := range nodes {
		if n.WriteTimeout < least.WriteTimeout {
			least = n
		}
		if n.WriteTimeout > most.WriteTimeout {
			most = n
		}
	}
	switch {
	case ours <= most.WriteTimeout:
		return one(doctor.Faulty(fmt.Sprintf("set cassandra.timeout above %v", most.WriteTimeout),
			"cassandra.timeout is %v, and node %s may take %v for a write: the consumer gives up before it hears the answer, and every slow write becomes a doubt",
			ours, most.Address, most.WriteTimeout))
	case least.WriteTimeout != most.WriteTimeout:
		return one(doctor.Doubtful("set counter_write_request_timeout and write_request_timeout alike in all nodes' cassandra.yaml", "nodes have different write timeouts: %s %v, %s %v",
			least.Address, least.WriteTimeout, most.Address, most.WriteTimeout))
	}
	return one(doctor.Fine("cassandra.timeout is %v, longer than the nodes' %v", ours, most.WriteTimeout))
}
