package repair

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// Doubter notes that offsets are in doubt. Safe for concurrent use.
type Doubter struct {
	Store   store.Store
	NewID   func() int64 // one that no other doubt has
	Metrics *Metrics
	Logger  *slog.Logger
}

// NewDoubter makes one whose doubts get random IDs.
func NewDoubter(db store.Store, m *Metrics, log *slog.Logger) *Doubter {
	return &Doubter{Store: db, NewID: newID, Metrics: m, Logger: log}
}

// Note notes that spans are in doubt. It goes on trying until the store answers or ctx ends; should this process die
// first, its successor doubts the same offsets, since it finds that nobody left clean.
func (d *Doubter) Note(ctx context.Context, spans map[models.Partition]eventlog.Span, reason string) error {
	for _, p := range slices.SortedFunc(maps.Keys(spans), models.Partition.Compare) {
		for _, s := range Pieces(spans[p]) {
			doubt := store.Doubt{Partition: p, ID: d.NewID(), From: s.From, To: s.To, Reason: reason, NotedAt: time.Now().Truncate(time.Millisecond)}
			if err := d.noteOne(ctx, doubt); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Doubter) noteOne(ctx context.Context, doubt store.Doubt) error {
	for attempt := 0; ; attempt++ {
		err := d.Store.NoteDoubt(ctx, doubt)
		if err == nil {
			d.Metrics.doubts.Inc()
			return nil
		}
		d.Logger.Warn("noting a doubt failed; trying again", "attempt", attempt+1, "error", err)
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return err
		}
	}
}

// An owner whose time is up gets this much to note its doubts. A pause may use up one attempt.
const (
	exitAttempts = 3
	ExitTimeout  = 2 * time.Second
)

// DoubtOnExit notes that spans were counted by an owner that may not have been one any more. It does so after ctx has ended
// too: one that was paused may have a successor who settled these offsets long ago.
func (d *Doubter) DoubtOnExit(ctx context.Context, spans map[models.Partition]eventlog.Span) (err error) {
	for range exitAttempts {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), ExitTimeout)
		err = d.Note(within, spans, store.DoubtLost)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

// SettleMargin is added to the store's write timeout, which runs by another clock and from another moment.
const SettleMargin = time.Second

// MaxChunkSpan bounds the offsets that a chunk has of one partition, events or not. It is also what a successor doubts and
// reads again, twice.
const MaxChunkSpan = 16_000
