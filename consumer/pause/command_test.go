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
				if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p, ID: 1, To: 10, Reason: reason, NotedAt: noted, Checks: 1}); err != nil {
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

// A write that is in doubt may sit in a node that hangs, and land in the snapshot: consumers have to check each doubt before they rest. One that comes
// later fails the pause.
func TestAPauseWaitsForDoubts(t *testing.T) {
	for _, reason := range []string{store.DoubtOutcome, store.DoubtPredecessor, store.DoubtLost, store.DoubtReplicas, store.DoubtAudit} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, p := memstore.New(), models.Partition{Topic: "clicks"}
				m.OwnerRows[p] = memstore.OwnerRow{Clean: true}
				pauser := &pause.Pauser{Store: m, Counts: func(models.Partition) bool { return true }, Settle: 7 * time.Second, Report: t.Logf}
				doubt := store.Doubt{Partition: p, ID: 1, To: 10, Reason: reason, NotedAt: time.Now()}
				note := func() {
					if err := m.NoteDoubt(t.Context(), doubt); err != nil {
						t.Error(err)
					}
				}
				note()
				ran := 0
				pauses := func() error {
					return pauser.Run(t.Context(), time.Minute, time.Minute, func(context.Context) error { ran++; return nil })
				}
				if err := pauses(); err == nil || !strings.Contains(err.Error(), "is in doubt ("+reason+")") {
					t.Errorf("with a doubt that was not checked it ended with %v", err)
				}
				go func() {
					time.Sleep(5 * time.Second)
					doubt.Checks = 1
					note()
				}()
				if err := pauses(); err != nil || ran != 1 {
					t.Errorf("the command ran %d times: %v", ran, err)
				}
				go func() {
					time.Sleep(5 * time.Second) // all are at rest
					doubt.ID, doubt.Checks = 2, 0
					note()
				}()
				if err := pauses(); err == nil || !strings.Contains(err.Error(), "run this again") || ran != 1 {
					t.Errorf("with a doubt that came later it ended with %v", err)
				}
			})
		})
	}
}

// hanging is a store of which one replica does not answer.
type hanging struct{ *memstore.Memory }

func (h hanging) ConfirmOwners(ctx context.Context) ([]store.Owner, bool, error) {
	owners, err := h.Owners(ctx)
	return owners, false, err
}

func TestAPauseNeedsEveryReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauser := &pause.Pauser{Store: hanging{memstore.New()}, Counts: func(models.Partition) bool { return true }, Report: t.Logf}
		err := pauser.Run(t.Context(), time.Minute, time.Minute, func(context.Context) error { t.Error("the command ran"); return nil })
		if err == nil || !strings.Contains(err.Error(), "a replica in Cassandra does not answer") {
			t.Errorf("it ended with %v", err)
		}
	})
}
