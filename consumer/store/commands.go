package store

import (
	"context"
	"time"

	"footfall/models"
)

// Part is one of Of parts of a keyspace; each key lies in one of them. Several parts are read at once, and after a stop only those
// that are left.
type Part struct {
	Keyspace   models.Keyspace
	Number, Of int
}

// KeyLedger is a key and its ledger.
type KeyLedger struct {
	Key  models.Key
	Rows []LedgerRow
}

// WalkStore is a store that can be read as a whole.
type WalkStore interface {
	Store
	// Keys calls each with the keys of a part that have a ledger, one call at a time. A call gets a few hundred keys that lie next to
	// each other in the store. each may keep the list.
	Keys(ctx context.Context, part Part, each func([]KeyLedger) error) error
	// Walked returns the progress of a walk that NoteWalked stored within the last week; empty if there is none.
	Walked(ctx context.Context, walk string) (string, error)
	// NoteWalked stores the progress of a walk; empty: the walk is over.
	NoteWalked(ctx context.Context, walk, progress string) error
}

// AuditStore is a store that can be audited.
type AuditStore interface {
	WalkStore
	// Sums adds up the cells of links by counter, and then reads their ledgers. Keys has passed the links in one call.
	Sums(ctx context.Context, links []models.Key) (map[models.Key]LinkSums, error)
}

// LinkSums is the sum of each of a link's counters, as far as they add up to others, and the link's ledger after they were read.
type LinkSums struct {
	Counters map[string]int64
	Ledger   []LedgerRow
}

// RetireStore is a store whose visitors can be retired.
type RetireStore interface {
	AuditStore
	// Announce records, under r.ID, that visits of r.Topic before r.Before will be refused. It does nothing if that is announced, under
	// any ID.
	Announce(ctx context.Context, r Retirement) error
	// Decide records from which offsets on r refuses. False without error: r was decided, withdrawn, or announced anew (another ID or
	// topic) meanwhile.
	Decide(ctx context.Context, r Retirement, from map[int]int64) (bool, error)
	// Finish records that all events below those offsets are counted, so that rows may be removed.
	Finish(ctx context.Context, before models.Millis) error
	// CountMismatches compares counters with the rows that DropVisitors would remove. It calls each, one call at a time, with every
	// counter that is not the number of its rows; counters without rows are left out. Nobody may count in these intervals meanwhile.
	// progress gets a line now and then.
	CountMismatches(ctx context.Context, before models.Millis, progress func(string), each func(CountMismatch)) error
	// DropVisitors removes the visitors' rows of a part's intervals that are over at a moment. It calls read with the number of
	// partitions of the database that it has read.
	DropVisitors(ctx context.Context, part Part, before models.Millis, read func(n int)) (Dropped, error)
}

// CountMismatch is a counter of visitors that does not equal the number of their rows.
type CountMismatch struct {
	Key           models.Key
	Cell          models.Cell
	Rows, Counted int64
}

// Dropped is what DropVisitors did.
type Dropped struct {
	Partitions int // removed, of the database
	Read       int // partitions read
}

// CompareStore is a store whose counters can be compared with those of another.
type CompareStore interface {
	RetireStore
	// Cells reads all counters of a key.
	Cells(ctx context.Context, key models.Key) (map[models.Cell]int64, error)
	// LinkCells and LinkLedgers are Cells and Ledger for links that Keys has passed in one call, perhaps Keys of another store with
	// the same links.
	LinkCells(ctx context.Context, links []models.Key) (map[models.Key]map[models.Cell]int64, error)
	LinkLedgers(ctx context.Context, links []models.Key) (map[models.Key][]LedgerRow, error)
}

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
