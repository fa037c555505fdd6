package rollup

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"footfall/consumer/maintenance"
	"footfall/consumer/store"
	"footfall/models"
)

// accept runs accept-gap, and returns what it reports.
func (b *bench) accept(t *testing.T, atMost int64) (string, error) {
	t.Helper()
	var said strings.Builder
	err := maintenance.RunAcceptGap(t.Context(), b.cfg, b.store, atMost, slog.New(slog.DiscardHandler), func(format string, args ...any) {
		fmt.Fprintf(&said, format+"\n", args...)
	})
	return said.String(), err
}

// A consumer refuses to skip events that Kafka deleted before they were counted, until an operator accepts the gap.
func TestEventsDeletedBeforeTheFirstCount(t *testing.T) {
	b := newBench(t, 1)
	b.send(t, 0, 30)
	b.deleteRecords(t, 10)
	const missing = "10 events of topic clicks, partition 0 (offsets 0 to 9)"
	b.refused(t, missing+" were deleted from Kafka before they were counted")

	said, err := b.accept(t, 0)
	if err != nil || !strings.Contains(said, missing+" are not counted; Kafka has deleted 10 of them") || !strings.Contains(said, "--at-most 10") {
		t.Errorf("asked, it said %q, %v", said, err)
	}
	if _, err := b.accept(t, 9); err == nil || !strings.Contains(err.Error(), "10 events are missing, more than --at-most 9") {
		t.Errorf("told to accept 9, it said %v", err)
	}
	b.refused(t, missing)

	if said, err := b.accept(t, 10); err != nil || !strings.Contains(said, "10 events are accepted as they are") {
		t.Errorf("told to accept 10, it said %q, %v", said, err)
	}
	b.finishes(t, 20)
	if said, err := b.accept(t, 0); err != nil || !strings.Contains(said, "no events are missing") {
		t.Errorf("afterwards it said %q, %v", said, err)
	}

	// A doubt that nobody can check is told by audits, and ends only when it is accepted.
	p := models.Partition{Topic: "clicks"}
	doubt := store.Doubt{Partition: p, ID: 1, From: 2, To: 5, Reason: store.DoubtUnsettled, Since: time.Now()}
	if err := b.store.NoteDoubt(t.Context(), doubt); err != nil {
		t.Fatal(err)
	}
	found, err := maintenance.RunAudit(t.Context(), b.cfg, b.store, maintenance.AuditOptions{}, slog.New(slog.DiscardHandler), func(line string) { said = line })
	const told = "3 events of topic clicks, partition 0 (offsets 2 to 4) are in doubt since"
	if err != nil || found.Clean() || !strings.HasPrefix(said, told) {
		t.Errorf("audit %+v, %v: %s", found, err, said)
	}
	if said, err := b.accept(t, 0); err != nil || !strings.Contains(said, "3 events in all") {
		t.Errorf("asked, it said %q, %v", said, err)
	}
	if _, err := b.accept(t, 3); err != nil {
		t.Error(err)
	}
	if left, err := b.store.Doubts(t.Context(), p); err != nil || len(left) > 0 {
		t.Errorf("doubts %v, %v", left, err)
	}
}

// A gap can also be accepted after an outage longer than retention, whether the last owner left clean or crashed, and if the group
// was moved.
func TestAcceptedGaps(t *testing.T) {
	f := func(name string, crashed bool, lose func(b *bench)) {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1)
			b.send(t, 0, 30)
			if crashed {
				b.store = crashing{b.memory}
			}
			b.finishes(t, 30)
			b.store = b.memory
			b.send(t, 30, 50)
			lose(b)
			if b.run(t, -1) == nil {
				t.Fatal("nobody refused")
			}
			if said, err := b.accept(t, 5); err != nil {
				t.Fatal(said, err)
			}
			b.finishes(t, 45)
		})
	}
	f("deleted", false, func(b *bench) { b.deleteRecords(t, 35) })
	f("deleted after a crash", true, func(b *bench) { b.deleteRecords(t, 35) })
	f("moved", false, func(b *bench) { b.move(t, 0, 35) })
	f("moved and deleted", false, func(b *bench) { b.move(t, 0, 35); b.deleteRecords(t, 32) })
}

// accept-gap refuses while consumers run: they would not notice what it changes.
func TestNoGapIsAcceptedWhileOthersCount(t *testing.T) {
	b := newBench(t, 1)
	b.send(t, 0, 1)
	b.during = func() {
		if _, err := b.accept(t, 100); err == nil || !strings.Contains(err.Error(), "group footfall has 1 members: stop all consumers") {
			t.Errorf("it said %v", err)
		}
	}
	b.finishes(t, 1)
}
