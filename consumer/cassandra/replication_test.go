package cassandra

import (
	"fmt"
	"strings"
	"testing"

	"footfall/models"
)

func TestReplicationIsWrittenDown(t *testing.T) {
	f := func(r replication, several bool, want string) {
		t.Helper()
		if r.String() != want || r.several() != several {
			t.Errorf("%v, several replicas: %v; want %s", r, r.several(), want)
		}
	}
	simple := map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}
	three := map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc2": "1", "dc1": "3/1"}
	f(replication{"a": simple, "b": simple}, false, "{'class': 'SimpleStrategy', 'replication_factor': '1'}")
	f(replication{"a": three, "b": three}, true, "{'class': 'NetworkTopologyStrategy', 'dc1': '3/1', 'dc2': '1'}")
	f(replication{"b": simple, "a": three}, true, "a {'class': 'NetworkTopologyStrategy', 'dc1': '3/1', 'dc2': '1'},"+
		" b {'class': 'SimpleStrategy', 'replication_factor': '1'}")
}

// A change is noticed by whoever has the tables open, and refused to whoever comes, until it is acknowledged.
func TestReplication(t *testing.T) {
	cfg, plan := testConfig(t), models.DefaultPlan()
	testMigrate(t, cfg, plan)
	reopen := func() error {
		s, err := Open(t.Context(), cfg, plan)
		if err == nil {
			s.Close()
		}
		return err
	}
	acknowledge := func() (said string) {
		err := AcknowledgeReplication(t.Context(), cfg, func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
		if err != nil {
			t.Error(err)
		}
		return said
	}
	s := testOpen(t, cfg, plan)
	refused := func(err error) {
		t.Helper()
		for _, want := range []string{"'datacenter1': '1'", "'SimpleStrategy'", s.names.cardinality, "repair --full", "consumer acknowledge-replication"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q in it", err, want)
			}
		}
	}
	allowed := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	allowed(s.SameReplication(t.Context()))
	if text := acknowledge(); !strings.Contains(text, "nothing to do") {
		t.Errorf("acknowledging what did not change: %q", text)
	}
	for i, keyspace := range s.names.all() { // any of them
		alter := `ALTER KEYSPACE ` + keyspace + ` WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}`
		if err := s.session.Query(alter).Exec(); err != nil {
			t.Fatal(err)
		}
		refused(s.SameReplication(t.Context()))
		refused(reopen())
		if i == 0 && !strings.Contains(fmt.Sprint(s.SameReplication(t.Context())), keyspace+" {") {
			t.Error("it is not said which keyspace has changed")
		}
	}
	if text := acknowledge(); !strings.Contains(text, "recorded") {
		t.Errorf("acknowledged: %q", text)
	}
	allowed(reopen())
	refused(s.SameReplication(t.Context())) // who has counted on all the time does not know what it has read
}
