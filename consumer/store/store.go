// Package store says what the consumer asks of a database: the interfaces, the types they speak in, and the errors by which a
// store tells whether a write was applied.
//
// A store imports this package and nothing of the pipeline. Store is what counting needs. The other interfaces add what one command
// or option needs: WalkStore, AuditStore, RetireStore, CompareStore and LeaseStore (commands.go), and LatestStore. The package storetest
// has the suite that every store must pass.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"footfall/models"
)

// ErrUnknownOutcome marks a write that may have been applied, may be applied later, or never will be. Any other error of
// a write means: not applied. A store wraps it around its own error.
var ErrUnknownOutcome = errors.New("outcome unknown")

// ErrDisconnected marks a read or a write that failed with its connection to the store. The store may have been restarted and
// have lost rows: callers must read again what they have cached. Without ErrUnknownOutcome it leaves nothing in doubt.
var ErrDisconnected = errors.New("connection to the store lost")

// Outcome names what became of a write, for metrics: applied, unknown or refused.
func Outcome(err error) string {
	switch {
	case err == nil:
		return "applied"
	case errors.Is(err, ErrUnknownOutcome):
		return "unknown"
	}
	return "refused"
}

// Store is what the rollup needs of a database. All methods are safe for concurrent use. storetest has the suite that
// every store must pass.
type Store interface {
	// Take makes owner the owner of p: under NextEpoch of the last epoch, or under the last epoch if its owner left clean.
	Take(ctx context.Context, p models.Partition, owner string) (Tenure, error)

	// Release records that the tenure's owner leaves clean: every write is acknowledged, every event below committed is counted,
	// and it writes no more under its epoch. False without error: another owner has taken the partition meanwhile.
	Release(ctx context.Context, t Tenure, committed int64) (bool, error)

	// Progress notes how far the tenure's owner has counted. False without error: another owner has taken the partition.
	Progress(ctx context.Context, t Tenure, committed int64) (bool, error)

	// Owners lists who took which partition last, of all topics, in any order.
	Owners(ctx context.Context) ([]Owner, error)

	// Committed returns how far the partition's owners noted that they had counted, 0 if none did.
	Committed(ctx context.Context, p models.Partition) (int64, error)

	// NoteTail stores the last message of p that was counted, in place of the one noted before.
	NoteTail(ctx context.Context, p models.Partition, t Tail) error

	// Tail reads what was noted; the zero Tail if nothing was.
	Tail(ctx context.Context, p models.Partition) (Tail, error)

	// FirstSeen returns the position of the first event of each sighting of a link, in their order; the zero position: never seen. The
	// sightings are distinct. For one of a site it returns an error: FirstEvents finds those, too. The store must not keep the list.
	FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error)

	// Remember stores new sightings of links, with the position of the first event of each. It is idempotent: after an error the caller may call
	// it again with the same values. For one of a site it returns an error. The store must not keep the lists.
	Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error

	// Visitors reads rows that remember visitors of sites, and hands each entry to found as it comes, one after the other and in any order: the
	// texts of all would be far more than the names of the visitors, who are distinct. After an error found may have been called for some
	// entries. The store must not keep the list.
	Visitors(ctx context.Context, visitors []models.Visitor, found func(i int, entry models.First)) error

	// RememberFirsts adds entries to visitors' rows. It is idempotent: an entry replaces one with the same position. After an error the
	// caller may call it again with the same values. The store must not keep the lists.
	RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error

	// ListNames stores rows of the lists. It is idempotent: after an error the caller may call it again. The store must not keep the list.
	ListNames(ctx context.Context, names []models.Name) error

	// NoteProgress stores how far partitions are, in place of what was noted before. What it says is for readers of counts: nothing is
	// decided by it, and a row of an owner that was overtaken does no harm.
	NoteProgress(ctx context.Context, rows []Progress) error

	// Ledger reads the ledger rows of the keys, and hands each key's to found as they come, one key after the other: all of them may be far more
	// than the keys. It does not call found for a key without rows. After an error found may have been called for some.
	Ledger(ctx context.Context, keys []models.Key, found func(i int, rows []LedgerRow)) error

	// Confirm is Ledger for keys in doubt: where data is replicated it asks every replica, for the keys' ledger and for the
	// cells given, so that a replica that missed a write is repaired by the read. complete is false if a replica did not
	// answer and only a quorum was read. It may call cells several times at once.
	Confirm(ctx context.Context, keys []models.Key, cells func(i int) iter.Seq[models.Cell], found func(i int, rows []LedgerRow)) (complete bool, err error)

	// Apply carries out the writes, each atomic by itself, in any order. The result has an error per write, in their
	// order: nil when acknowledged, wrapping ErrUnknownOutcome when in doubt, anything else when certainly not applied.
	// A caller has at most one write under way per key. No request is begun that the fence of ctx refuses (Fenced).
	Apply(ctx context.Context, writes []KeyWrite) []error

	// NoteDoubt stores a doubt, in place of one with the same ID.
	NoteDoubt(ctx context.Context, d Doubt) error

	// Doubts reads the doubts about a partition.
	Doubts(ctx context.Context, p models.Partition) ([]Doubt, error)

	// SettleDoubt removes the doubt with d's ID.
	SettleDoubt(ctx context.Context, d Doubt) error

	// Setting returns the value recorded under name, which never changes. If there is none it records value, unless that is empty; then it
	// returns an empty one.
	Setting(ctx context.Context, name, value string) (string, error)

	// Notices reads what consumers have to know.
	Notices(ctx context.Context) (Notices, error)

	// Withdraw gives up a retirement that was announced, if it is not decided yet; false if it is.
	Withdraw(ctx context.Context, before models.Millis) (bool, error)

	// Leases lists the leases in force, in any order.
	Leases(ctx context.Context) ([]Lease, error)

	// WriteTimeout is the time after which a write that the store has accepted is either applied or dropped, as far as
	// the store's own settings tell. Zero: outcomes are never unknown.
	WriteTimeout() time.Duration
}

// LatestStore is a store that can keep the latest clicks.
type LatestStore interface {
	// KeepLatest stores rows until ttl after their time; older ones are left out. It is idempotent, and a row written again does
	// not live longer: a caller may repeat it after an error, and so may a replay.
	KeepLatest(ctx context.Context, clicks []models.LatestClick, ttl time.Duration) error
}

// Tenure is one owner's time with one Kafka partition.
type Tenure struct {
	Partition models.Partition
	Owner     string
	Epoch     int64
	Before    int64 // the epoch that the partition had when it was taken; 0: none
	// Fresh: the partition had no owner before, or the last one left clean, so no write of a predecessor is under way.
	Fresh bool
	// Committed is how far the owners noted that the partition is counted, 0 if none did. It never falls, even if the group is set
	// back. Counting goes on there if Kafka has deleted the group's offset, as it does when a group is empty for a week.
	Committed int64
}

// Progress is how far a partition is counted, as readers of counts are told.
type Progress struct {
	Partition models.Partition
	Counted   int64     // every event below is counted
	LogEnd    int64     // where the partition ended at At, or a little later
	EventTime time.Time // Kafka's time of the last message that was counted; zero: not known, and what was noted stays
	At        time.Time
}

// Owner is the consumer that took a partition last.
type Owner struct {
	Partition models.Partition
	Name      string
	Clean     bool // it has left, with every write acknowledged
	Epoch     int64
	Committed int64     // every event below is counted, as far as it was noted
	TakenAt   time.Time // another one each time that the partition is taken
}

// Columns are where the columns of a row go: topic, kafka_partition, owner, clean, epoch, committed, taken_at.
func (o *Owner) Columns() []any {
	return []any{&o.Partition.Topic, &o.Partition.Number, &o.Name, &o.Clean, &o.Epoch, &o.Committed, &o.TakenAt}
}

// Doubt is a span of offsets [From, To) whose counter writes may have been applied twice, late, or not at all. The log
// tells which keys they touch. Doubts of one reason that touch are united. Times are in whole milliseconds.
type Doubt struct {
	Partition models.Partition
	ID        int64 // unique: whoever settles a doubt must not settle one that was noted meanwhile
	From, To  int64
	Reason    string
	Since     time.Time // when the oldest that it unites was noted
	NotedAt   time.Time // when the latest was
	Due       time.Time // of the next check
	Checks    int       // passed since NotedAt
}

// DoubtColumns are those of a row, in the order of Columns. The first three are its key.
const DoubtColumns = "topic, kafka_partition, id, from_offset, to_offset, reason, since, noted_at, due, checks"

// Columns are where the columns of a row go, and come from.
func (d *Doubt) Columns() []any {
	return []any{&d.Partition.Topic, &d.Partition.Number, &d.ID, &d.From, &d.To, &d.Reason, &d.Since, &d.NotedAt, &d.Due, &d.Checks}
}

// Reasons of doubts.
const (
	DoubtOutcome     = "a write's outcome was unknown"
	DoubtPredecessor = "the last owner did not leave clean"
	DoubtLost        = "counted while the partition may have been lost"
	DoubtReplicas    = "not every replica could be asked"
	DoubtAudit       = "repaired by an audit"
	// DoubtUnsettled: a doubt of any other reason that nobody can check any more. It stays until an operator accepts it.
	DoubtUnsettled = "its events or visitors' rows are gone"
)

// The kinds of ledger rows. Owners and plus rows add, minus rows take away.
const (
	KindOwner = "owner"
	KindPlus  = "plus"
	KindMinus = "minus"
)

// LedgerID names one ledger row within its key.
type LedgerID struct {
	Partition models.Partition
	Kind      string
	Epoch     int64 // of a repair row: its own number
}

// LedgerRow says that the key's counters hold the key's events in [From, To) of a Kafka partition.
type LedgerRow struct {
	LedgerID
	From, To int64
}

// Columns are where the columns of a row go, after those of its key.
func (r *LedgerRow) Columns() []any {
	return []any{&r.Partition.Topic, &r.Partition.Number, &r.Kind, &r.Epoch, &r.From, &r.To}
}

// KeyWrite is one atomic write: what to add to the cells of a key, and to its ledger rows. From and To of the rows are
// increments as well: the ledger is made of counters, or it could not be part of the same mutation.
type KeyWrite struct {
	Key    models.Key
	Cells  map[models.Cell]int64
	Ledger []LedgerRow
}

// FirstEvents sets the position of the first event of each sighting that is a key of first, of links and of sites; the zero position: never seen.
func FirstEvents(ctx context.Context, db Store, first map[models.Sighting]models.Position) error {
	var links []models.Sighting
	rows := map[models.Visitor]bool{} // that may have sightings of sites
	for s := range first {
		if first[s] = (models.Position{}); s.Keyspace != models.Cardinality {
			links = append(links, s)
			continue
		}
		own, _ := s.Row()
		if own.Under = s.Features; rows[own] {
			continue // all its rows are: for another interval, or for a combination that has this one
		}
		for _, v := range s.Rows() {
			rows[v] = true
		}
	}
	found, err := db.FirstSeen(ctx, links)
	if err != nil {
		return err
	}
	for i, s := range links {
		first[s] = found[i]
	}
	visitors := slices.Collect(maps.Keys(rows))
	return db.Visitors(ctx, visitors, func(i int, entry models.First) {
		for s := range entry.Sightings(visitors[i]) {
			if at, asked := first[s]; asked && at == (models.Position{}) {
				first[s] = entry.At
			}
		}
	})
}

// OfLinks returns an error if a sighting is not of a link: a visitor of a site has rows, and would be taken for new.
func OfLinks(sightings []models.Sighting) error {
	for _, s := range sightings {
		if s.Keyspace != models.URLShortener {
			return fmt.Errorf("%s %q: only visitors of links are remembered by sighting", s.Keyspace, s.Name)
		}
	}
	return nil
}

// Ledgers collects what Ledger finds, by key.
func Ledgers(ctx context.Context, db Store, keys []models.Key) (map[models.Key][]LedgerRow, error) {
	out := map[models.Key][]LedgerRow{}
	err := db.Ledger(ctx, keys, func(i int, rows []LedgerRow) { out[keys[i]] = rows })
	return out, err
}

// Confirmed collects what Confirm finds, by key.
func Confirmed(ctx context.Context, db Store, cells map[models.Key][]models.Cell) (rows map[models.Key][]LedgerRow, complete bool, err error) {
	keys, rows := slices.Collect(maps.Keys(cells)), map[models.Key][]LedgerRow{}
	complete, err = db.Confirm(ctx, keys, func(i int) iter.Seq[models.Cell] { return slices.Values(cells[keys[i]]) },
		func(i int, of []LedgerRow) { rows[keys[i]] = of })
	return rows, complete, err
}

// TooLarge tells whether a write has to be split: Cassandra takes 65,535 statements a batch and 16 MiB a request, and each statement
// repeats the key.
func TooLarge(key models.Key, cells iter.Seq2[models.Cell, int64], ledgerRows int) bool {
	const statements, bytes, overhead = 60_000, 12 << 20, 64
	n, size := ledgerRows, 0
	for cell := range cells {
		n++
		size += len(cell.Label)
	}
	return n > statements || size+n*(len(key.Name)+len(key.Features)+overhead) > bytes
}

// Tail is the last message of a partition that was counted, the one before Offset. If the log has another message there, it is
// another log. Sum is a fingerprint of the message's key and value. The zero Tail: not known.
type Tail struct {
	Offset int64
	Sum    string
}

// String is the form in which stores keep it.
func (t Tail) String() string { return fmt.Sprintf("%d %s", t.Offset, t.Sum) }

// ReadTail reads what String wrote; the zero Tail if it is empty.
func ReadTail(text string) (t Tail, err error) {
	if text == "" {
		return t, nil
	}
	if _, err := fmt.Sscanf(text, "%d %s", &t.Offset, &t.Sum); err != nil {
		return Tail{}, fmt.Errorf("reading the last event %q: %w", text, err)
	}
	return t, nil
}

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
