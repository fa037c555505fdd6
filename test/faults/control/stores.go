package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

// without wraps a store so that one safeguard is gone.
func without(safeguard string, s store.Store) (store.Store, error) {
	switch safeguard {
	case "ledger":
		return noLedger{s}, nil
	case "doubt":
		return blindRetry{s}, nil
	case "acknowledged-visitors":
		return hopeful{s}, nil
	case "listed-names":
		return patient{s}, nil
	case "one-attempt": // run gives the session a retry policy instead
		return s, nil
	}
	return nil, fmt.Errorf("FOOTFALL_TEST_CONTROL is %q: want ledger, doubt, acknowledged-visitors, listed-names or one-attempt", safeguard)
}

// sameHost is a retry policy for a cluster of one node: gocql's own policies try the next node only.
type sameHost struct{ gocql.SimpleRetryPolicy }

func (*sameHost) GetRetryType(error) gocql.RetryType { return gocql.Retry }

// noLedger finds nothing in the ledger.
type noLedger struct{ store.Store }

func (noLedger) Ledger(context.Context, []models.Key, func(int, []store.LedgerRow)) error { return nil }

func (noLedger) Confirm(context.Context, []models.Key, func(int) iter.Seq[models.Cell], func(int, []store.LedgerRow)) (bool, error) {
	return true, nil
}

// blindRetry sends a write of unknown outcome again until it succeeds, as a driver's retry policy does.
type blindRetry struct{ store.Store }

func (s blindRetry) Apply(ctx context.Context, writes []store.KeyWrite) []error {
	errs := s.Store.Apply(ctx, writes)
	for i, err := range errs {
		for err != nil && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			err = s.Store.Apply(ctx, writes[i:i+1])[0]
		}
		errs[i] = err
	}
	return errs
}

// hopeful takes visitors for stored even if the insert fails, like a cache that is filled before the insert.
type hopeful struct{ store.Store }

func (s hopeful) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	_ = s.Store.Remember(ctx, sightings, first) // the missing safeguard
	return nil
}

func (s hopeful) RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error {
	_ = s.Store.RememberFirsts(ctx, visitors, firsts) // the same
	return nil
}

// patient lists names some time after their counters are written, to save time in a flush.
type patient struct{ store.Store }

func (s patient) ListNames(_ context.Context, names []models.Name) error {
	names = slices.Clone(names)
	time.AfterFunc(10*time.Second, func() { _ = s.Store.ListNames(context.Background(), names) }) // the missing safeguard
	return nil
}
