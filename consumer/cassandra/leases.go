package cassandra

import (
	"context"
	"fmt"
	"time"

	"footfall/consumer/store"
	"footfall/internal/cql"
)

var _ store.LeaseStore = (*Store)(nil)

// Leases implements store.Store: one partition of a few rows, which Cassandra expires.
func (s *Store) Leases(ctx context.Context) (list []store.Lease, err error) {
	query := s.session.Query(`SELECT kind, id, what FROM ` + s.names.Footfall + `.leases WHERE name = 'tables'`).WithContext(ctx)
	if list, err = cql.All(query, func(l *store.Lease) []any { return []any{&l.Kind, &l.ID, &l.What} }); err != nil {
		return nil, fmt.Errorf("reading leases: %w", markDisconnected(err))
	}
	return list, nil
}

// KeepLease implements store.LeaseStore.
func (s *Store) KeepLease(ctx context.Context, l store.Lease, ttl time.Duration) error {
	err := s.session.Query(`INSERT INTO `+s.names.Footfall+`.leases (name, kind, id, what) VALUES ('tables', ?, ?, ?) USING TTL ?`,
		l.Kind, l.ID, l.What, int(ttl.Seconds())).WithContext(ctx).Exec()
	if err != nil {
		return fmt.Errorf("keeping a lease: %w", err)
	}
	return nil
}

// EndLease implements store.LeaseStore.
func (s *Store) EndLease(ctx context.Context, l store.Lease) error {
	err := s.session.Query(`DELETE FROM `+s.names.Footfall+`.leases WHERE name = 'tables' AND kind = ? AND id = ?`, l.Kind, l.ID).
		WithContext(ctx).Exec()
	if err != nil {
		return fmt.Errorf("ending a lease: %w", err)
	}
	return nil
}
