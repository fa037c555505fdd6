package store

import (
	"context"
	"time"
)

// The kinds of leases.
const (
	LeasePause   = "pause"   // consumers count nothing, and no command begins that writes
	LeaseCommand = "command" // a command writes to the tables: no snapshot is taken meanwhile
)

// Lease says what a process does, for as long as the process renews it. It ends by itself if the process dies.
type Lease struct {
	Kind string
	ID   string // another one for each process
	What string // for people: who holds it, and for what
}

// LeaseStore is a store that keeps leases.
type LeaseStore interface {
	Store
	// ConfirmOwners is Owners, asked of every replica. complete is false if one did not answer and only a quorum was read.
	ConfirmOwners(ctx context.Context) (owners []Owner, complete bool, err error)
	// KeepLease stores a lease for ttl from now, in place of one with the same kind and ID.
	KeepLease(ctx context.Context, l Lease, ttl time.Duration) error
	// EndLease removes a lease.
	EndLease(ctx context.Context, l Lease) error
}
