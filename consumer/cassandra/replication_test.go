package cassandra

import (
	"fmt"
	"strings"
	"testing"

	"footfall/internal/cql/cqltest"
	"footfall/models"
)

// After a change of the replication, an open store reports it, and Open refuses until it is acknowledged.
func TestReplication(t *testing.T) {
	cfg, plan := cqltest.Config(t), models.DefaultPlan()
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
		for _, want := range []string{"'datacenter1': '1'", "'SimpleStrategy'", s.names.Cardinality, "repair --full", "consumer acknowledge-replication"} {
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
		t.Errorf("acknowledging without a change: %q", text)
	}
	for i, keyspace := range s.names.All() { // each of them counts
		alter := `ALTER KEYSPACE ` + keyspace + ` WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}`
		if err := s.session.Query(alter).Exec(); err != nil {
			t.Fatal(err)
		}
		refused(s.SameReplication(t.Context()))
		refused(reopen())
		if i == 0 && !strings.Contains(fmt.Sprint(s.SameReplication(t.Context())), keyspace+" {") {
			t.Error("the error does not name the keyspace that has changed")
		}
	}
	if text := acknowledge(); !strings.Contains(text, "recorded") {
		t.Errorf("acknowledged: %q", text)
	}
	allowed(reopen())
	refused(s.SameReplication(t.Context())) // a store that was open all the time may have read from new replicas
}
