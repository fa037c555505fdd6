package cassandra

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/models"
)

// traced collects the ids of traced requests.
type traced struct {
	mu  sync.Mutex
	ids []gocql.UUID
}

func (c *traced) Trace(id []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uuid, err := gocql.UUIDFromBytes(id); err == nil {
		c.ids = append(c.ids, uuid)
	}
}

// Taking, noting and releasing a partition, and recording a setting, are transactions within one data centre, by the server's own trace.
func testLocalTransactions(t *testing.T, s *Store) {
	var seen traced
	s.session.SetTrace(&seen)
	tenure, err := s.Take(t.Context(), models.Partition{Topic: "traced", Number: 1}, "me")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Release(t.Context(), tenure, 1); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := s.Setting(t.Context(), "traced", "x"); err != nil {
		t.Fatal(err)
	}
	s.session.SetTrace(nil)
	if len(seen.ids) != 5 {
		t.Fatalf("%d requests, want two reads and three transactions", len(seen.ids))
	}
	for _, id := range seen.ids {
		var parameters map[string]string
		for until := time.Now().Add(30 * time.Second); parameters == nil && time.Now().Before(until); { // traces are written asynchronously
			err := s.session.Query(`SELECT parameters FROM system_traces.sessions WHERE session_id = ?`, id).
				Consistency(gocql.One).Scan(&parameters)
			if err != nil && !errors.Is(err, gocql.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if parameters["consistency_level"] != "LOCAL_SERIAL" && parameters["serial_consistency_level"] != "LOCAL_SERIAL" {
			t.Errorf("a transaction asks other data centres: %v", parameters)
		}
	}
}
