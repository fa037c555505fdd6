package e2e

import (
	"errors"
	"regexp"
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
	changed := time.Now()
	harness.Within(t, time.Minute, "the consumer ends", func() error {
		if first.Running() {
			return errors.New("it still runs")
		}
		return nil
	})
	if said, err := first.Printed(); err != nil || !strings.Contains(said, "consumer: the replication of the keyspaces is") {
		t.Errorf("%q, %v", said, err)
	}
	// It writes no more within two seconds; one more is for a machine on which others work. Then it tries in vain to note what it had begun.
	said, err := first.Printed()
	closed := regexp.MustCompile(`"time":"([^"]+)"[^\n]*session has been closed`).FindStringSubmatch(said)
	if err != nil || closed == nil {
		t.Fatalf("it does not say that it closed its session: %v\n%s", err, said)
	}
	if at, err := time.Parse(time.RFC3339Nano, closed[1]); err != nil || at.Sub(changed) > 3*time.Second {
		t.Errorf("it closed its session %v after the change, %v", at.Sub(changed), err)
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
