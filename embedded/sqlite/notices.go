package sqlite

import (
	"context"

	"footfall/consumer/store"
	"footfall/models"
)

// Notices implements store.Store. There are none: embedded keeps everything.
func (s *Store) Notices(ctx context.Context) (store.Notices, error) {
	return store.Notices{}, ctx.Err()
}

// Leases implements store.Store. There are none: its commands do not run beside it.
func (s *Store) Leases(ctx context.Context) ([]store.Lease, error) { return nil, ctx.Err() }

// Withdraw implements store.Store.
func (s *Store) Withdraw(ctx context.Context, _ models.Millis) (bool, error) { return false, ctx.Err() }
