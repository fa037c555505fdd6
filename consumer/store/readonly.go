package store

import "context"

// ReadOnly is a store that records no settings: the first consumer does that, not a command that looks at tables before. Safe for concurrent use.
type ReadOnly struct{ Store }

// Setting implements Store. Where nothing is recorded it returns what would be.
func (r ReadOnly) Setting(ctx context.Context, name, value string) (string, error) {
	recorded, err := r.Store.Setting(ctx, name, "")
	if err == nil && recorded == "" {
		recorded = value
	}
	return recorded, err
}
