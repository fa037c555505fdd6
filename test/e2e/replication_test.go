package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/load"
	"footfall/test/harness"
)

// Somebody changes the replication while a consumer counts. The consumer stops and no other starts until an operator has acknowledged the
// change. Then all events are counted once.
func TestReplicationChangesUnderAConsumer(t *testing.T) {
	t.Parallel()
	d := newReal(t, 0)
	first := d.addConsumer(t)
	const n = 1000
	events := load.Make(31, 2*n)
	half, _ := send(t, d, events[:n], load.Order(31, n), nil)
	d.settle(t, half)
	d.exec(t, `ALTER KEYSPACE cardinality%s WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}`)
	harness.Within(t, 5*time.Second, "the consumer stops", func() error { // two seconds, and three for a machine on which others work
		if first.Running() {
			return errors.New("it still runs")
		}
		return nil
	})
	if said, err := first.Printed(); err != nil || !strings.Contains(said, "consumer: the replication of the keyspaces is") {
		t.Errorf("%q, %v", said, err)
	}
	first.Kill() // tells the harness that its end was expected
	for _, keyspace := range []string{"footfall", "urlshortener"} {
		d.exec(t, `ALTER KEYSPACE `+keyspace+`%s WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}`)
	}
	d.refused(t, "'class': 'NetworkTopologyStrategy', 'datacenter1': '1'", "repair --full")
	if said, err := d.command(t, "audit"); err == nil {
		t.Errorf("the audit did not refuse: %s", said)
	}
	if said, err := d.command(t, "acknowledge-replication"); err != nil || !strings.Contains(said, "recorded") {
		t.Errorf("%q, %v", said, err)
	}
	d.addConsumer(t)
	want, _ := send(t, d, events, load.Order(31, 2*n), nil) // the first half once more: duplicates
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))
}
