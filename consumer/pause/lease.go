package pause

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"footfall/consumer/store"
	"footfall/internal/retry"
)

// A lease is renewed every renewEvery, and lives for leaseTTL. Its holder stops after giveUpAfter without a renewal. That is a minute before
// others may take the lease for ended, since clocks differ by less than that.
const (
	renewEvery  = 5 * time.Second
	giveUpAfter = 30 * time.Second
	leaseTTL    = giveUpAfter + time.Minute
)

// errLost is why a holder's context ends.
var errLost = fmt.Errorf("the store did not answer for %v, so that others may go on by now", giveUpAfter)

// held runs do while a lease of this kind is in force. The context of do ends with errLost as its cause if the lease cannot be renewed. Nothing
// runs if it cannot be stored at all.
func held(ctx context.Context, db store.LeaseStore, kind, what string, do func(context.Context, store.Lease) error) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	l := store.Lease{Kind: kind, ID: uuid.NewString(), What: fmt.Sprintf("%s (process %d on %s)", what, os.Getpid(), host)}
	renewed := time.Now() // before the request: the store may count from then
	if err := db.KeepLease(ctx, l, leaseTTL); err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = db.EndLease(ending, l) // else it ends by itself
	}()
	working, lost := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	defer func() { lost(nil); <-stopped }()
	go func() {
		defer close(stopped)
		renew(working, db, l, renewed)
		if working.Err() == nil {
			lost(errLost)
		}
	}()
	return do(working, l)
}

// renew renews a lease until ctx ends, or until the last renewal is too long ago.
func renew(ctx context.Context, db store.LeaseStore, l store.Lease, renewed time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewEvery):
		}
		if retry.Since(renewed) > giveUpAfter {
			return
		}
		now := time.Now()
		asking, cancel := context.WithTimeout(ctx, renewEvery)
		if err := db.KeepLease(asking, l, leaseTTL); err == nil {
			renewed = now
		}
		cancel()
	}
}

// Work runs a command that writes to the tables, unless counting is paused: the snapshot would not be whole. Whoever pauses waits for the
// command. what names it in messages.
func Work(ctx context.Context, db store.LeaseStore, what string, do func(context.Context) error) error {
	return held(ctx, db, store.LeaseCommand, what, func(ctx context.Context, _ store.Lease) error {
		// The lease first, then the look: of a pause and a command that begin together, at least one sees the other.
		leases, err := db.Leases(ctx)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(leases, isPause); i >= 0 {
			return fmt.Errorf("a snapshot is being taken, and nothing may be written meanwhile: run this again when %s is over", leases[i].What)
		}
		err = do(ctx)
		if errors.Is(context.Cause(ctx), errLost) {
			err = errors.Join(err, errLost)
		}
		return err
	})
}

func isPause(l store.Lease) bool { return l.Kind == store.LeasePause }
