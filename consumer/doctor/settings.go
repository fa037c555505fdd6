package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"footfall/consumer/cassandra"
	"footfall/internal/doctor"
	"footfall/models"
)

// guardrails looks for limits of the nodes that refuse what consumers and commands send.
func (p *patient) guardrails(context.Context) (findings doctor.Findings) {
	for _, n := range p.nodes {
		findings.Add(judgeGuardrails(n))
	}
	return findings.OrFine("no guardrail refuses what footfall sends, and large partitions are warned of")
}

// levels are the consistency levels that consumers use, by the guardrail that refuses them. Others that many refuse, such as writes at ONE, are not
// used on our tables.
var levels = []struct {
	name string
	used []string
}{
	{"read_consistency_levels_disallowed", []string{"LOCAL_QUORUM", "LOCAL_SERIAL", "ALL"}},
	{"write_consistency_levels_disallowed", []string{"LOCAL_QUORUM", "LOCAL_SERIAL"}},
}

// limits are guardrails with the least value that consumers need, and what exceeds a lower one.
var limits = []struct {
	name  string
	least int64
	what  string
}{
	{"partition_keys_in_select_fail_threshold", cassandra.MostPartitionsAsked, "lookups of visitors"},
	{"in_select_cartesian_product_fail_threshold", cassandra.MostRowsAsked, "lookups of visitors"},
	{"items_per_collection_fail_threshold", 2 + models.MaxFeatures, "rows of visitors"},
}

// judgeGuardrails judges the settings of one node.
func judgeGuardrails(n cassandra.NodeState) (findings doctor.Findings) {
	if _, told := n.Settings["partition_size_warn_threshold"]; !told {
		return doctor.Doubtful("watch partition sizes by nodetool tablestats", "the guardrails of node %s cannot be asked (Cassandra %s)", n.Address, n.Release)
	}
	const yaml = "in the node's cassandra.yaml"
	for _, l := range levels {
		for _, level := range l.used {
			if hasWord(n.Settings[l.name], level) {
				findings.Add(doctor.Faulty("remove "+level+" from "+l.name+" "+yaml, "node %s refuses requests at %s, which footfall uses (%s)", n.Address, level, l.name))
			}
		}
	}
	if n.Settings["user_timestamps_enabled"] == "false" {
		findings.Add(doctor.Faulty("set user_timestamps_enabled: true "+yaml, "node %s refuses timestamps of clients: retire, forget and latest clicks need them", n.Address))
	}
	for _, l := range limits {
		if limit, err := strconv.ParseInt(n.Settings[l.name], 10, 64); err == nil && limit >= 0 && limit < l.least {
			findings.Add(doctor.Faulty(fmt.Sprintf("set %s to %d or more %s", l.name, l.least, yaml), "node %s has %s %d, which %s exceed", n.Address, l.name, limit, l.what))
		}
	}
	if v := n.Settings["partition_size_warn_threshold"]; v == "" || v == "null" {
		findings.Add(doctor.Doubtful("set partition_size_warn_threshold: 80MiB "+yaml+", and alert on the line in its log (docs/model.md)",
			"node %s does not warn of large partitions: a link with millions of visitors outgrows its partition unseen", n.Address))
	}
	return findings
}

// hasWord tells whether a list such as [ANY, ALL] has a word.
func hasWord(list, word string) bool {
	for _, one := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("[]{}, \"'", r) }) {
		if one == word {
			return true
		}
	}
	return false
}

// disk tells what the nodes say of their disks. CQL has no free space: only a guardrail that refuses writes before the disk is full.
func (p *patient) disk(context.Context) (findings doctor.Findings) {
	for _, n := range p.nodes {
		used := "cannot say how much its tables take"
		if n.MiB >= 0 {
			used = fmt.Sprintf("has %d MiB of our tables", n.MiB)
		}
		findings.Add(doctor.Fine("node %s %s; its free space cannot be asked by CQL: watch the data directory (node_exporter)", n.Address, used))
	}
	return findings
}
