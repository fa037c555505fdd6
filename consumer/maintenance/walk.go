package maintenance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// Reporter tells an operator a line about a command that is under way. Safe for concurrent use.
type Reporter func(format string, args ...any)

// Keyspaces are all keyspaces that have keys.
var Keyspaces = []models.Keyspace{models.URLShortener, models.Cardinality}

// More parts mean that less is read again after a stop, but that an empty table takes longer.
const (
	WalkParts  = 256 // of a keyspace
	WalkAtOnce = 16  // parts that are read concurrently
)

// Walker reads keyspaces part by part, several parts concurrently.
type Walker struct {
	Keyspaces     []models.Keyspace
	Parts, AtOnce int      // both at least 1
	What          string   // what is read, for reports: "keys"
	Report        Reporter // called concurrently

	name   string // under which progress is saved in notes; empty: it is not
	resume bool   // continue the walk that was saved under name
	notes  store.WalkStore
}

// Walk calls do with each part, AtOnce at a time, and returns do's first error. do calls read with the number of things it has read. If it
// returns true, a resumed walk skips the part. before is how much earlier walks had read of the parts that this one skipped.
func (w *Walker) Walk(ctx context.Context, do func(ctx context.Context, part store.Part, read func(n int)) (bool, error)) (before int, err error) {
	done, err := w.load(ctx)
	if err != nil {
		return 0, err
	}
	p := newProgress(w.What, w.Parts*len(w.Keyspaces), done, w.Report)
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(w.AtOnce)
	for _, part := range w.all() {
		if done.has(part) {
			continue
		}
		group.Go(func() error {
			if working.Err() != nil {
				return working.Err()
			}
			n := 0
			whole, err := do(working, part, func(more int) {
				n += more
				p.read(more)
			})
			if err != nil {
				return err
			}
			if p.finished(part, n, whole) {
				w.save(working, p.walked())
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		w.save(context.WithoutCancel(ctx), p.walked())
		return done.Keys, err
	}
	w.save(ctx, walked{})
	return done.Keys, nil
}

// EachKey calls do with batches of all keys of these keyspaces, concurrently.
func EachKey(ctx context.Context, db store.WalkStore, keyspaces []models.Keyspace, report Reporter, do func(batch []store.KeyLedger) error) error {
	w := Walker{Keyspaces: keyspaces, Parts: WalkParts, AtOnce: WalkAtOnce, What: "keys", Report: report}
	_, err := w.Walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		return true, db.Keys(ctx, part, func(batch []store.KeyLedger) error {
			read(len(batch))
			return do(batch)
		})
	})
	return err
}

func (w *Walker) all() (parts []store.Part) {
	for _, keyspace := range w.Keyspaces {
		for number := range w.Parts {
			parts = append(parts, store.Part{Keyspace: keyspace, Number: number, Of: w.Parts})
		}
	}
	return parts
}

// walked is the saved progress of a walk.
type walked struct {
	Of   int                       `json:"of"`   // parts of a keyspace
	Keys int                       `json:"keys"` // read in the parts that are done
	Done map[models.Keyspace][]int `json:"done"` // numbers of the parts
}

func (w walked) has(p store.Part) bool { return slices.Contains(w.Done[p.Keyspace], p.Number) }

func (w walked) parts() (n int) {
	for _, list := range w.Done {
		n += len(list)
	}
	return n
}

func (w walked) clone() walked {
	done := map[models.Keyspace][]int{}
	for keyspace, list := range w.Done {
		done[keyspace] = slices.Clone(list)
	}
	w.Done = done
	return w
}

// load reads the progress of the walk to resume.
func (w *Walker) load(ctx context.Context) (done walked, err error) {
	fresh := walked{Of: w.Parts, Done: map[models.Keyspace][]int{}}
	if w.name == "" || !w.resume {
		return fresh, nil
	}
	text, err := w.notes.Walked(ctx, w.name)
	if err != nil || text == "" {
		return fresh, err
	}
	if err := json.Unmarshal([]byte(text), &done); err != nil || done.Of != w.Parts || done.Done == nil {
		return fresh, nil //nolint:nilerr // another version saved it: start over
	}
	w.Report("resuming: %d of %d parts are done, %d %s were read", done.parts(), w.Parts*len(w.Keyspaces), done.Keys, w.What)
	return done, nil
}

// save saves the walk's progress; progress without parts deletes what was saved. If saving fails, a resumed walk reads more again.
func (w *Walker) save(ctx context.Context, now walked) {
	if w.name == "" {
		return
	}
	text := ""
	if now.parts() > 0 {
		list, _ := json.Marshal(now) // numbers and names: it cannot fail
		text = string(list)
	}
	ctx, cancel := context.WithTimeout(ctx, repair.ExitTimeout)
	defer cancel()
	if err := w.notes.NoteWalked(ctx, w.name, text); err != nil {
		w.Report("progress could not be saved, so a resumed run would read more again: %v", err)
	}
}

// walkAttempts is how often one read is tried: a walk of hours must not fail because one read timed out.
const walkAttempts = 6

// patiently retries a failing read.
func patiently[T any](ctx context.Context, read func() (T, error)) (out T, err error) {
	for attempt := range walkAttempts {
		if out, err = read(); err == nil || ctx.Err() != nil {
			return out, err
		}
		if attempt+1 < walkAttempts && retry.Sleep(ctx, retry.Backoff(attempt)) != nil {
			break
		}
	}
	return out, err
}

// progress reports how fast a walk is and how long it will take. Safe for concurrent use.
type progress struct {
	what   string
	report Reporter
	of     int // parts in all
	before int // parts that earlier walks have read

	mu                   sync.Mutex
	started, told, saved time.Time
	keys, parts          int // read in this walk
	done                 walked
}

func newProgress(what string, of int, done walked, report Reporter) *progress {
	now := time.Now()
	return &progress{
		what: what, of: of, before: done.parts(), report: report, started: now, told: now, saved: now, done: done.clone(),
	}
}

// read adds n, and reports every ProgressEvery.
func (p *progress) read(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys += n
	now := time.Now()
	if now.Sub(p.told) < ProgressEvery {
		return
	}
	p.told = now
	p.report("%s", p.line(now.Sub(p.started)))
}

// line says how much is read, how fast, and how long the rest takes if its parts are as large as those read.
func (p *progress) line(took time.Duration) string {
	text := fmt.Sprintf("%d %s read, %.0f a second; %d of %d parts", p.keys, p.what, float64(p.keys)/took.Seconds(), p.before+p.parts, p.of)
	if p.parts > 0 {
		left := took / time.Duration(p.parts) * time.Duration(p.of-p.before-p.parts)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// finished notes that a part is read. whole: a resumed walk may skip it. It tells whether it is time to save.
func (p *progress) finished(part store.Part, keys int, whole bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts++
	if !whole {
		return false
	}
	p.done.Keys += keys
	p.done.Done[part.Keyspace] = append(p.done.Done[part.Keyspace], part.Number)
	if time.Since(p.saved) < ProgressEvery {
		return false
	}
	p.saved = time.Now()
	return true
}

func (p *progress) walked() walked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done.clone()
}
