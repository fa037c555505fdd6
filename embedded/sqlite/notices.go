package sqlite

import (
	"context"

	"footfall/consumer/rollup"
	"footfall/models"
)

// Notices implements rollup.Store. There are none: the one-process default keeps everything.
func (s *Store) Notices(ctx context.Context) (rollup.Notices, error) {
	return rollup.Notices{}, ctx.Err()
}

// Withdraw implements rollup.Store.
func (s *Store) Withdraw(ctx context.Context, _ models.Millis) (bool, error) { return false, ctx.Err() }
