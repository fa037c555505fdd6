package rollup

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"

	"github.com/prometheus/client_golang/prometheus"
)

// start runs a consumer under this owner name until stop is called.
func (b *bench) start(t *testing.T, name string) (stop context.CancelFunc, ended chan error) {
	t.Helper()
	c, err := New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c.owner, c.patience, c.keysAtOnce = name, 2*time.Second, cmp.Or(b.keysAtOnce, keysAtOnce)
	ctx, stop := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return stop, ended
}

// counts waits until so many clicks are counted.
func (b *bench) counts(t *testing.T, want int64) {
	t.Helper()
	for until := time.Now().Add(time.Minute); b.clicks() != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d clicks are counted after a minute, want %d", b.clicks(), want)
		}
	}
}

// A consumer that joins the group of one of another version refuses, and the other one goes on. When the other has stopped, the new
// version may count.
func TestUpgradeToAnotherVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	b := newBench(t, 2)
	b.cfg.Kafka.SessionTimeout = 6 * time.Second

	stopOld, endedOld := b.start(t, "old/3/u") // a version that does not compare versions
	b.send(t, 0, 20)
	b.counts(t, 20)
	stopNew, endedNew := b.start(t, "new/4/u/v5")
	defer stopNew()
	var err error
	select {
	case err = <-endedNew:
	case <-time.After(20 * time.Second):
		t.Fatal("it counts beside an older one")
	}
	if refused := new(eventlog.Refusal); !errors.As(err, &refused) || !strings.Contains(err.Error(), "old/3/u") {
		t.Errorf("beside an older one it ends with %v", err)
	}
	b.send(t, 20, 30)
	b.counts(t, 30) // the older one has its partitions again
	_, err = maintenance.RunAudit(t.Context(), b.cfg, b.store, maintenance.AuditOptions{Repair: true}, slog.New(slog.DiscardHandler), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "old/3/u") {
		t.Errorf("an audit that repairs beside an older one ends with %v", err)
	}
	stopOld()
	if err := <-endedOld; err != nil {
		t.Fatal(err)
	}
	stopNew, endedNew = b.start(t, "new/5/u/v5")
	b.send(t, 30, 40)
	b.counts(t, 40)
	stopNew()
	if err := <-endedNew; err != nil {
		t.Error(err)
	}
}
