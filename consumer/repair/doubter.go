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

// Doubter stores doubts. Safe for concurrent use.
type Doubter struct {
	Store   store.Store
	NewID   func() int64 // unique among doubts
	Metrics *Metrics
	Logger  *slog.Logger
}

// NewDoubter makes one whose doubts get random IDs.
func NewDoubter(db store.Store, m *Metrics, log *slog.Logger) *Doubter {
	return &Doubter{Store: db, NewID: newID, Metrics: m, Logger: log}
}

// Note puts spans in doubt. It retries until the store answers or ctx ends. If this process dies first, its successor doubts
// the same offsets, since the partitions were not left clean.
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

// What an owner has for its last calls to the store, after its context has ended. A pause of the process may use up one attempt.
const (
	exitAttempts = 3
	ExitTimeout  = 2 * time.Second
)

// DoubtOnExit puts spans in doubt that an owner counted when it may have lost the partition already. It does so even after ctx
// has ended: if this process was paused, its successor may have settled its own doubt about these offsets long ago.
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

// SettleMargin is added to the store's write timeout, which begins later than ours and runs by another clock.
const SettleMargin = time.Second

// MaxChunkSpan bounds the offsets of one partition in a chunk, with or without events. The successor of a crashed owner doubts twice as many,
// and reads them again three times: a larger bound makes chunks larger, and crashes more expensive.
const MaxChunkSpan = 50_000
