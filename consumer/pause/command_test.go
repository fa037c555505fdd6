package pause_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/pause"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// A process that lost a partition may go on with its last flush, though owners says that all are at rest.
func TestAPauseWaitsForOwnersThatWereExpelled(t *testing.T) {
	for reason, waits := range map[string]bool{store.DoubtPredecessor: true, store.DoubtLost: true, store.DoubtAudit: false} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, p := memstore.New(), models.Partition{Topic: "clicks"}
				m.OwnerRows[p] = memstore.OwnerRow{Clean: true}
				noted := time.Now()
				if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p, ID: 1, To: 10, Reason: reason, NotedAt: noted}); err != nil {
					t.Fatal(err)
				}
				pauser := &pause.Pauser{Store: m, Counts: func(models.Partition) bool { return true }, Zombie: 2 * time.Minute, Report: t.Logf}
				ran := time.Duration(-1)
				do := func(context.Context) error { ran = time.Since(noted); return nil }
				if waits {
					if err := pauser.Run(t.Context(), time.Minute, time.Minute, do); err == nil || !strings.Contains(err.Error(), "may still write") || ran >= 0 {
						t.Fatalf("the pause did not give up after a minute: %v, ran after %v", err, ran)
					}
				}
				if err := pauser.Run(t.Context(), 3*time.Minute, time.Minute, do); err != nil {
					t.Fatal(err)
				}
				if waits != (ran >= 2*time.Minute) {
					t.Errorf("the command ran %v after the doubt", ran)
				}
			})
		})
	}
}

// A command such as grow waits for consumers that count: a pause that was announced before it ends would stop both.
func TestAPauseIsNotAnnouncedWhileACommandWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		pauser := &pause.Pauser{Store: m, Counts: func(models.Partition) bool { return true }, Report: t.Logf}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- pause.Work(ctx, m, "consumer grow", func(ctx context.Context) error {
				for {
					if leases, err := m.Leases(t.Context()); err != nil || len(leases) != 1 {
						t.Errorf("there are other leases beside the command's: %v %v", leases, err)
					}
					select {
					case <-ctx.Done():
						return nil
					case <-time.After(time.Second):
					}
				}
			})
		}()
		synctest.Wait()
		err := pauser.Run(t.Context(), 30*time.Second, time.Minute, func(context.Context) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "consumer grow") {
			t.Errorf("the pause did not wait for the command: %v", err)
		}
		cancel()
		<-ended
		if err := pauser.Run(t.Context(), 30*time.Second, time.Minute, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// unreachable is a store that takes a lease once, and does not answer renewals.
type unreachable struct {
	*memstore.Memory
	kept int
}

func (u *unreachable) KeepLease(ctx context.Context, l store.Lease, ttl time.Duration) error {
	if u.kept++; u.kept == 1 {
		return u.Memory.KeepLease(ctx, l, ttl)
	}
	<-ctx.Done()
	return ctx.Err()
}

// Whoever cannot renew its lease stops before others may take it for ended, and says that what it did is not to be used.
func TestALeaseThatIsNotRenewed(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context, db store.LeaseStore, do func(context.Context) error) error{
		"pause": func(ctx context.Context, db store.LeaseStore, do func(context.Context) error) error {
			p := &pause.Pauser{Store: db, Counts: func(models.Partition) bool { return true }, Report: t.Logf}
			return p.Run(ctx, time.Minute, time.Hour, do)
		},
		"command": func(ctx context.Context, db store.LeaseStore, do func(context.Context) error) error {
			return pause.Work(ctx, db, "consumer grow", do)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, ended := time.Now(), time.Duration(0)
				err := run(t.Context(), &unreachable{Memory: memstore.New()}, func(ctx context.Context) error {
					<-ctx.Done()
					ended = time.Since(begun)
					return nil // as if it had finished in the last moment
				})
				if err == nil || !strings.Contains(err.Error(), "did not answer for 30s") {
					t.Errorf("the answer is %v", err)
				}
				if ended < 30*time.Second || ended > 45*time.Second {
					t.Errorf("it ended after %v; the lease lives for 90 s, and clocks may differ by a minute", ended)
				}
			})
		})
	}
}

// A write that nobody waits for any more may land a little later: all must be at rest for so long.
func TestAPauseWaitsForWritesUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := memstore.New(), models.Partition{Topic: "clicks"}
		m.OwnerRows[p] = memstore.OwnerRow{Clean: true}
		pauser := &pause.Pauser{Store: m, Counts: func(models.Partition) bool { return true }, Settle: 7 * time.Second, Report: t.Logf}
		begun := time.Now()
		var ran time.Duration
		go func() {
			time.Sleep(5 * time.Second)
			if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p, ID: 1, To: 10, Reason: store.DoubtAudit, NotedAt: time.Now()}); err != nil {
				t.Error(err)
			}
		}()
		if err := pauser.Run(t.Context(), time.Minute, time.Minute, func(context.Context) error { ran = time.Since(begun); return nil }); err != nil {
			t.Fatal(err)
		}
		if ran < 12*time.Second { // it rests since the doubt
			t.Errorf("the command ran after %v", ran)
		}
	})
}
