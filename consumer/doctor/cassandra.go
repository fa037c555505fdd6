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

func (p *patient) cassandra(ctx context.Context) doctor.Findings {
	var err error
	p.store, err = cassandra.Connect(ctx, p.Config.Cassandra, p.Plan)
	if err != nil {
		return unreachable(err)
	}
	if p.log, err = p.newLog(p.store); err != nil {
		return refused(err)
	}
	if err := p.store.CheckDataCentres(ctx, p.Config.Cassandra.LocalDC); err != nil {
		return refused(err)
	}
	return doctor.Fine("Cassandra answers")
}

// unreachable says why Cassandra cannot be spoken to. The driver's errors have no types at this point.
func unreachable(err error) doctor.Findings {
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

func (p *patient) schema(ctx context.Context) doctor.Findings {
	if err := p.store.CheckSchema(ctx); err != nil {
		return refused(err)
	}
	return doctor.Fine("the tables are those of this version and configuration")
}

func (p *patient) cassandraNodes(ctx context.Context) (findings doctor.Findings) {
	nodes, err := p.store.Examine(ctx, p.Config.Cassandra.LocalDC, p.Now)
	if err != nil {
		return unreachable(err)
	}
	p.known = nodes
	for _, n := range nodes {
		if n.Err != nil {
			findings.Add(doctor.Doubtful("start the node, and look at its log", "Cassandra's node %s does not answer: %v", n.Address, n.Err))
			continue
		}
		p.nodes = append(p.nodes, n)
	}
	if len(p.nodes) == 0 {
		return doctor.Faulty("start Cassandra's nodes, or mend cassandra.local_dc", "none of Cassandra's %d nodes answers in data centre %q", len(nodes),
			p.Config.Cassandra.LocalDC)
	}
	releases := map[string]bool{}
	for _, n := range p.nodes {
		releases[n.Release] = true
	}
	if len(releases) > 1 {
		findings.Add(doctor.Doubtful("finish the upgrade of Cassandra", "nodes are of different versions: %s",
			strings.Join(slices.Sorted(maps.Keys(releases)), ", ")))
	}
	return findings.OrFine("all %d nodes answer, version %s", len(p.nodes), p.nodes[0].Release)
}

func (p *patient) durability(context.Context) doctor.Findings { return judgeDurability(p.nodes) }

func judgeDurability(nodes []cassandra.NodeState) (findings doctor.Findings) {
	for _, n := range nodes {
		if !n.Durable() {
			findings.Add(doctor.Faulty("set commitlog_sync: group in the node's cassandra.yaml, and restart it",
				"commitlog_sync of Cassandra's node %s is %q: a crash of the node costs acknowledged counts", n.Address, n.CommitlogSync))
		}
	}
	return findings.OrFine("commitlog_sync is group or batch on every node")
}

func (p *patient) replication(ctx context.Context) doctor.Findings {
	now, err := p.store.Replication(ctx)
	if err != nil {
		return refused(err)
	}
	return judgeReplication(now, p.known, p.Config.Cassandra.LocalDC)
}

// judgeReplication says whether a quorum of replicas can answer, now and after the loss of a node.
func judgeReplication(now cql.Replication, nodes []cassandra.NodeState, localDC string) doctor.Findings {
	const alter = "ALTER KEYSPACE, and repair: docs/operations.md, Changing the replication"
	centres := map[string]bool{}
	for _, n := range nodes {
		centres[n.DataCentre] = true
	}
	for _, keyspace := range slices.Sorted(maps.Keys(now)) {
		of := now[keyspace]
		simple := strings.HasSuffix(of["class"], "SimpleStrategy")
		if simple && len(centres) > 1 {
			return doctor.Doubtful(alter, "keyspace %s has SimpleStrategy, which does not know the data centres %s", keyspace,
				strings.Join(slices.Sorted(maps.Keys(centres)), ", "))
		}
		for dc := range centres {
			factor := of[dc]
			if simple {
				factor = of["replication_factor"]
			}
			if f := judgeFactor(keyspace, dc, factor, nodes); f != nil && (localDC == "" || dc == localDC) {
				if f[0].Remedy == "" {
					f[0].Remedy = alter
				}
				return f
			}
		}
	}
	return doctor.Fine("the replication is as recorded: %s", now)
}

// judgeFactor judges the replicas of a keyspace in a data centre; nil: nothing is wrong.
func judgeFactor(keyspace, dc, factor string, nodes []cassandra.NodeState) doctor.Findings {
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
		return doctor.Faulty("", "keyspace %s has no replicas in data centre %s, where consumers ask for a quorum", keyspace, dc)
	}
	quorum := replicas/2 + 1
	switch {
	case total < quorum:
		return doctor.Faulty("", "keyspace %s has %d replicas, but data centre %s has %d nodes: a quorum is %d", keyspace, replicas, dc, total, quorum)
	case down > replicas-quorum:
		return doctor.Faulty("start the nodes that are down", "%d of %d nodes of data centre %s are down: a quorum of %d replicas of keyspace %s cannot answer for all rows", down,
			total, dc, quorum, keyspace)
	case total > 1 && replicas == quorum:
		return doctor.Doubtful("", "keyspace %s has %d replicas in data centre %s: nothing is counted while one of its %d nodes is down; want 3", keyspace, replicas, dc, total)
	case total < replicas:
		return doctor.Doubtful("add nodes", "keyspace %s has %d replicas, but data centre %s has %d nodes", keyspace, replicas, dc, total)
	}
	return nil
}

func (p *patient) writeTimeout(context.Context) doctor.Findings {
	return judgeTimeouts(p.nodes, p.Config.Cassandra.Timeout)
}

func judgeTimeouts(nodes []cassandra.NodeState, ours time.Duration) doctor.Findings {
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
		return doctor.Faulty(fmt.Sprintf("set cassandra.timeout above %v", most.WriteTimeout),
			"cassandra.timeout is %v, and node %s may take %v for a write: the consumer gives up before it hears the answer, and every slow write becomes a doubt",
			ours, most.Address, most.WriteTimeout)
	case least.WriteTimeout != most.WriteTimeout:
		return doctor.Doubtful("set counter_write_request_timeout and write_request_timeout alike in all nodes' cassandra.yaml", "nodes have different write timeouts: %s %v, %s %v",
			least.Address, least.WriteTimeout, most.Address, most.WriteTimeout)
	}
	return doctor.Fine("cassandra.timeout is %v, longer than the nodes' %v", ours, most.WriteTimeout)
}
