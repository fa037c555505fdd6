package doctor

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/cassandra"
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/internal/doctor"
	"footfall/models"
)

// expect compares the first finding: its severity, and how its text begins. What is not fine has a remedy.
func expect(t *testing.T, findings doctor.Findings, want string) {
	t.Helper()
	f := findings[0]
	if got := string(f.Severity) + " " + f.What; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if (f.Severity == doctor.Fault || f.Severity == doctor.Warning) && f.Remedy == "" {
		t.Errorf("%q has no remedy", f.What)
	}
}

func node(address, dc string, change ...func(*cassandra.NodeState)) cassandra.NodeState {
	n := cassandra.NodeState{
		Node: cassandra.Node{Address: address, CommitlogSync: "group", WriteTimeout: 5 * time.Second}, DataCentre: dc,
		Settings: map[string]string{"partition_size_warn_threshold": "80MiB", "user_timestamps_enabled": "true", "write_consistency_levels_disallowed": "[ANY]"},
	}
	for _, f := range change {
		f(&n)
	}
	return n
}

func down(n *cassandra.NodeState) { n.Err = errors.New("down") }

func set(name, value string) func(*cassandra.NodeState) {
	return func(n *cassandra.NodeState) { n.Settings[name] = value }
}

func TestJudgeDurability(t *testing.T) {
	periodic := node("b", "dc1", func(n *cassandra.NodeState) { n.CommitlogSync = "periodic" })
	expect(t, judgeDurability([]cassandra.NodeState{node("a", "dc1")}), "ok")
	expect(t, judgeDurability([]cassandra.NodeState{node("a", "dc1"), periodic}), `fault commitlog_sync of Cassandra's node b is "periodic"`)
}

func TestJudgeReplication(t *testing.T) {
	three := []cassandra.NodeState{node("a", "dc1"), node("b", "dc1"), node("c", "dc1")}
	f := func(want, localDC string, replication map[string]string, nodes ...cassandra.NodeState) {
		t.Helper()
		expect(t, judgeReplication(cql.Replication{"footfall": replication}, nodes, localDC), want)
	}
	simple := func(n string) map[string]string {
		return map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": n}
	}
	network := func(n string) map[string]string {
		return map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc1": n}
	}
	f("ok", "", simple("1"), node("a", "dc1"))
	f("ok", "", network("3"), three...)
	f("ok", "", network("3"), three[0], three[1], node("c", "dc1", down))
	f("fault 2 of 3 nodes of data centre dc1 are down", "", network("3"), three[0], node("b", "dc1", down), node("c", "dc1", down))
	f("fault 1 of 3 nodes of data centre dc1 are down", "", network("1"), three[0], three[1], node("c", "dc1", down))
	f("fault keyspace footfall has 3 replicas, but data centre dc1 has 1 nodes: a quorum is 2", "", simple("3"), three[0])
	f("warning keyspace footfall has 3 replicas, but data centre dc1 has 2 nodes", "", network("3"), three[:2]...)
	f("warning keyspace footfall has 1 replicas in data centre dc1", "", simple("1"), three...)
	f("warning keyspace footfall has 2 replicas in data centre dc1", "", network("2"), three...)
	f("warning keyspace footfall has SimpleStrategy", "", simple("3"), append(three, node("d", "dc2"))...)
	f("fault keyspace footfall has no replicas in data centre dc2", "dc2", network("3"), node("d", "dc2"))
}

func TestJudgeTimeouts(t *testing.T) {
	slow := node("b", "dc1", func(n *cassandra.NodeState) { n.WriteTimeout = 8 * time.Second })
	expect(t, judgeTimeouts([]cassandra.NodeState{node("a", "dc1")}, 12*time.Second), "ok")
	expect(t, judgeTimeouts([]cassandra.NodeState{node("a", "dc1"), slow}, 12*time.Second), "warning nodes have different write timeouts: a 5s, b 8s")
	expect(t, judgeTimeouts([]cassandra.NodeState{node("a", "dc1"), slow}, 8*time.Second), "fault cassandra.timeout is 8s, and node b may take 8s")
}

func TestJudgeGuardrails(t *testing.T) {
	if found := judgeGuardrails(node("a", "dc1")); len(found) > 0 {
		t.Errorf("a sensible node: %v", found)
	}
	f := func(want string, change func(*cassandra.NodeState)) {
		t.Helper()
		expect(t, judgeGuardrails(node("a", "dc1", change)), want)
	}
	f("fault node a refuses requests at LOCAL_QUORUM", set("write_consistency_levels_disallowed", "[ANY, LOCAL_QUORUM]"))
	f("fault node a refuses timestamps", set("user_timestamps_enabled", "false"))
	f("fault node a has partition_keys_in_select_fail_threshold 5", set("partition_keys_in_select_fail_threshold", "5"))
	f("warning node a does not warn of large partitions", set("partition_size_warn_threshold", "null"))
	f("warning the guardrails of node a cannot be asked", func(n *cassandra.NodeState) { n.Settings = nil })
	if found := judgeGuardrails(node("a", "dc1", set("write_consistency_levels_disallowed", "[ANY, ONE, LOCAL_ONE]"))); len(found) > 0 {
		t.Errorf("levels that nobody uses: %v", found)
	}
	if found := judgeGuardrails(node("a", "dc1", set("items_per_collection_fail_threshold", "-1"))); len(found) > 0 {
		t.Errorf("a limit that is off: %v", found)
	}
}

func TestJudgeClock(t *testing.T) {
	f := func(ahead, within time.Duration, want string) {
		t.Helper()
		found := judgeClock("the node's clock", ahead, within)
		if found != nil {
			expect(t, found, want)
		}
		if (want == "") != (found == nil) {
			t.Errorf("%v within %v: %+v, want %q", ahead, within, found, want)
		}
	}
	f(900*time.Millisecond, 0, "")
	f(-1400*time.Millisecond, 500*time.Millisecond, "")
	f(2*time.Second, 0, "warning the node's clock is 2s ahead of")
	f(-time.Minute, 0, "fault the node's clock is 1m0s behind")
}

func TestJudgeGroup(t *testing.T) {
	partitions := []models.Partition{{Topic: "clicks"}, {Topic: "clicks", Number: 1}, {Topic: "visits"}}
	f := func(want string, members ...map[string][]int) {
		t.Helper()
		g := kafka.DescribeGroupsResponseGroup{GroupID: "footfall"}
		for _, has := range members {
			var m kafka.DescribeGroupsResponseMember
			for topic, list := range has {
				m.MemberAssignments.Topics = append(m.MemberAssignments.Topics, kafka.GroupMemberTopic{Topic: topic, Partitions: list})
			}
			g.Members = append(g.Members, m)
		}
		expect(t, judgeGroup(g, partitions), want)
	}
	f("fault no consumer runs: group footfall has no members")
	f("ok 2 consumers count all 3 partitions", map[string][]int{"clicks": {0, 1}}, map[string][]int{"visits": {0}})
	f("fault group footfall has 1 members, but no one counts partitions clicks/1", map[string][]int{"clicks": {0}, "visits": {0}})
	f("warning 1 of 2 consumers have no partition", map[string][]int{"clicks": {0, 1}, "visits": {0}}, nil)
}

func TestJudgeLag(t *testing.T) {
	if found := judgeLag("visits", 1000, 59*time.Second); found != nil {
		t.Errorf("%+v", found)
	}
	expect(t, judgeLag("visits", 7, time.Minute), "warning topic visits has 7 events that are not counted; the oldest waits for 1m0s")
	expect(t, judgeLag("visits", 7, time.Hour), "fault topic visits has 7 events")
}

func TestJudgeDoubts(t *testing.T) {
	now := time.Now()
	doubt := func(age time.Duration) store.Doubt {
		return store.Doubt{Partition: models.Partition{Topic: "visits", Number: 3}, Reason: store.DoubtOutcome, Since: now.Add(-age), NotedAt: now}
	}
	expect(t, judgeDoubts(nil, now), "ok")
	expect(t, judgeDoubts([]store.Doubt{doubt(time.Minute)}, now), "warning doubts open: 1 (a write's outcome was unknown 1); the oldest, about partition 3 of topic visits, for 1m0s")
	expect(t, judgeDoubts([]store.Doubt{doubt(time.Minute), doubt(time.Hour)}, now), "fault doubts open: 2")
}

func TestJudgeDead(t *testing.T) {
	expect(t, judgeDead(0, 0, nil, "dead"), "ok")
	expect(t, judgeDead(3, 3, map[string]int{"bad_json": 1, "unknown_feature": 2}, "dead"), "warning dead letters of the last day: 3 (unknown_feature 2, bad_json 1)")
	expect(t, judgeDead(50_000, deadRead, map[string]int{"bad_json": deadRead}, "dead"), "warning dead letters of the last day: 50000 at the most (of the first 20000: bad_json 20000)")
	expect(t, judgeDeadSize("1000", "dead"), "warning topic dead has max.message.bytes 1000")
	for _, most := range []string{"1048588", ""} {
		if got := judgeDeadSize(most, "dead"); got != nil {
			t.Errorf("%q: %v", most, got)
		}
	}
}

func TestJudgeVersions(t *testing.T) {
	ours := store.Owner{Name: eventlog.NewOwnerName(), Partition: models.Partition{Topic: "visits"}}
	theirs := store.Owner{Name: "host/1/x/v999", Partition: models.Partition{Topic: "clicks"}}
	gone := theirs
	gone.Clean = true
	expect(t, judgeVersions([]store.Owner{ours, gone}, []store.Owner{gone}), "ok")
	expect(t, judgeVersions([]store.Owner{theirs}, []store.Owner{theirs}), "warning consumer host/1/x/v999 decides about events by version 999")
	expect(t, judgeVersions([]store.Owner{ours, theirs}, []store.Owner{theirs}), "fault consumer host/1/x/v999, which has partition 0 of topic clicks, decides")
}

func TestJudgeRefusal(t *testing.T) {
	expect(t, judgeRefusal("http://p", 403, "{\"error\":\"wrong_key\"}\n"), "fault the producer at http://p refuses the canary: 403 {\"error\":\"wrong_key\"}")
	if f := judgeRefusal("http://p", 401, ""); !strings.Contains(f[0].Remedy, "--key-file") || !strings.Contains(f[0].Remedy, canaryPrefix) {
		t.Errorf("%+v", f)
	}
	if f := judgeRefusal("http://p", 503, ""); !strings.Contains(f[0].Remedy, "producer doctor") {
		t.Errorf("%+v", f)
	}
}

func TestUnreachableCassandra(t *testing.T) {
	for text, want := range map[string]string{
		"gocql: unable to create session: Provided username x and/or password are incorrect": "fault Cassandra refuses the login",
		"x509: certificate signed by unknown authority":                                      "fault Cassandra cannot be spoken to by TLS",
		"dial tcp 127.0.0.1:1: connect: connection refused":                                  "fault Cassandra does not answer",
	} {
		expect(t, unreachable(errors.New(text)), want)
	}
}

// The texts that consumers refuse with are split into what is wrong and what to do.
func TestRefusalsHaveRemedies(t *testing.T) {
	p := models.Partition{Topic: "visits", Number: 3}
	f := func(err error, remedy string) {
		t.Helper()
		if got := refused(err)[0]; !strings.HasPrefix(got.Remedy, remedy) || got.What == "" {
			t.Errorf("%q: remedy %q, want %q", got.What, got.Remedy, remedy)
		}
	}
	f(eventlog.OtherPartitions("visits", 6, 7), "run consumer grow --topic visits --partitions 7")
	f(eventlog.RecreatedTopic(p, 9), "These tables cannot go on with this log: count it into new tables")
	f(eventlog.UncountedGap(p, eventlog.Span{From: 1, To: 3}, eventlog.Span{From: 3, To: 9}), "raise the topic's retention. To go on without them, stop all consumers")
	f(eventlog.UncountedGap(p, eventlog.Span{From: 1, To: 3}, eventlog.Span{From: 1, To: 9}), "Set it back (kafka-consumer-groups.sh")
	f(errors.New("something else"), "see docs/runbook.md")
}

// A doctor hears what consumers would log.
func TestOverheard(t *testing.T) {
	heard := &overheard{}
	log := slog.New(heard)
	log.InfoContext(context.Background(), "started")
	log.Warn("the topic is half grown. Run it again", "topic", "visits")
	found := heard.take()
	if len(found) != 1 || found[0].Severity != doctor.Warning || found[0].Remedy != "Run it again (topic visits)" || len(heard.take()) > 0 {
		t.Errorf("%+v", found)
	}
}
