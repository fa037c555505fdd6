package memstore

import (
	"context"
	"time"

	"footfall/consumer/store"
)

// Leases implements store.Store.
func (m *Memory) Leases(ctx context.Context) (list []store.Lease, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for l, until := range m.leases {
		if time.Now().Before(until) {
			list = append(list, l)
		}
	}
	return list, ctx.Err()
}

// ConfirmOwners implements store.LeaseStore.
func (m *Memory) ConfirmOwners(ctx context.Context) ([]store.Owner, bool, error) {
	owners, err := m.Owners(ctx)
	return owners, true, err
}

// KeepLease implements store.LeaseStore.
func (m *Memory) KeepLease(ctx context.Context, l store.Lease, ttl time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.dropLease(l) // at once: nobody may see the store without it
	m.leases[l] = time.Now().Add(ttl)
	return nil
}

// EndLease implements store.LeaseStore.
func (m *Memory) EndLease(ctx context.Context, l store.Lease) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.dropLease(l)
	return ctx.Err()
}

func (m *Memory) dropLease(l store.Lease) {
	for other := range m.leases {
		if other.Kind == l.Kind && other.ID == l.ID {
			delete(m.leases, other)
		}
	}
}
