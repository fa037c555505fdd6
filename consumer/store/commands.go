package store

import (
	"context"

	"footfall/models"
)

// Part is one of the parts that a keyspace is divided into: parts are read side by side, and one who was stopped goes on with
// those that are left. Each key lies in one part of Of.
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
	// Keys calls each, one call at a time, with the keys of a part that have a ledger, a few hundred together that lie next to each
	// other in the store. The list is the callee's.
	Keys(ctx context.Context, part Part, each func([]KeyLedger) error) error
	// Walked reads how far a walk was, as NoteWalked left it within the last week; empty if nobody did.
	Walked(ctx context.Context, walk string) (string, error)
	// NoteWalked notes how far a walk is; empty: it is over.
	NoteWalked(ctx context.Context, walk, progress string) error
}

// AuditStore is a store that can be audited.
type AuditStore interface {
	WalkStore
	// Sums adds up the counters of links that Keys has handed on together, by table, and then reads their ledgers.
	Sums(ctx context.Context, links []models.Key) (map[models.Key]LinkSums, error)
}

// LinkSums is the sum of a link's counters in each table, and the link's ledger after they were read.
type LinkSums struct {
	Tables map[string]int64
	Ledger []LedgerRow
}

// RetireStore is a store whose visitors can be retired.
type RetireStore interface {
	AuditStore
	// Announce says that visits of r.Topic before r.Before will be refused, under r.ID. It does nothing if that was said already, under
	// whichever.
	Announce(ctx context.Context, r Retirement) error
	// Decide says from which offsets on. False without error: it was decided, withdrawn, or announced anew (another ID or topic), meanwhile.
	Decide(ctx context.Context, r Retirement, from map[int]int64) (bool, error)
	// Finish says that all below those offsets is counted, and that rows may go.
	Finish(ctx context.Context, before models.Millis) error
	// CountMismatches calls each, one at a time, with the counters of which more or fewer visitors have rows than are counted, among the
	// rows that DropVisitors would remove. One without any row is left out. It is for intervals that nobody counts any more. progress
	// gets a line now and then.
	CountMismatches(ctx context.Context, before models.Millis, progress func(string), each func(CountMismatch)) error
	// DropVisitors removes the rows of a part's intervals that are over at a moment. read is told how many partitions of the
	// database were looked at.
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
	Partitions int // of the database, that are removed
	Read       int // partitions looked at
}

// CompareStore is a store whose counters can be held against those of another.
type CompareStore interface {
	RetireStore
	// Cells reads all counters of a key.
	Cells(ctx context.Context, key models.Key) (map[models.Cell]int64, error)
	// LinkCells and LinkLedgers are Cells and Ledger for links that Keys has handed on together, be it by another store with the
	// same links.
	LinkCells(ctx context.Context, links []models.Key) (map[models.Key]map[models.Cell]int64, error)
	LinkLedgers(ctx context.Context, links []models.Key) (map[models.Key][]LedgerRow, error)
}
