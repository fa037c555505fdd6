package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/configs"
	"footfall/internal/cql/cqltest"
	"footfall/internal/doctor"
	"footfall/internal/doctor/kafkachecks"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// withoutTables are the checks that need no schema, which takes seconds to make: test/e2e has those that do.
var withoutTables = []string{
	kafkachecks.Reach, kafkachecks.Topics, checkCassandra, checkNodes, "durability", "write timeout", "clocks", "cleanup policy", "retention",
	"guardrails", "disk", "dead letters",
}

// examined runs these checks on a real Cassandra, by a clock that is off, and returns the first finding.
func examined(t *testing.T, nodes configs.Cassandra, off time.Duration) string {
	t.Helper()
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "clicks", "visits", "dead-letters"))
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cassandra, cfg.Kafka.Brokers = nodes, kafka.ListenAddrs()
	p := &patient{
		Options: Options{Config: cfg, Plan: models.DefaultPlan(), Now: func() time.Time { return time.Now().Add(off) }}, said: &overheard{},
		kafka: kafkachecks.Cluster{Via: dial.Plain(cfg.Kafka.Brokers...), Bases: []string{"clicks", "visits"}, Others: []string{"dead-letters"}},
	}
	defer p.close()
	checks := slices.DeleteFunc(p.checks(), func(c doctor.Check) bool { return !slices.Contains(withoutTables, c.Name) })
	found := doctor.Examine(t.Context(), "consumer", checks).Findings
	return fmt.Sprintf("%s %s: %s", found[0].Severity, found[0].Check, found[0].What)
}

func TestClocksOfRealNodes(t *testing.T) {
	cfg := cqltest.Config(t)
	f := func(off time.Duration, want string) {
		t.Helper()
		if got := examined(t, cfg, off); !strings.HasPrefix(got, want) {
			t.Errorf("a clock that is %v ahead: %q, want %q", off, got, want)
		}
	}
	f(0, "ok ")
	f(-time.Minute, "fault clocks: the clock of Cassandra's node ")
	f(4*time.Second, "warning clocks: the clock of Cassandra's node ")
}
