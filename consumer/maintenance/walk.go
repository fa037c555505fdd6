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

// Keyspaces are all that keys lie in.
var Keyspaces = []models.Keyspace{models.URLShortener, models.Cardinality}

// How many parts a keyspace has, and how many are read at once. The more parts, the less is read again after a stop, and the more
// an empty table costs.
const (
	WalkParts  = 256
	WalkAtOnce = 16
)

// Walker goes over all of some keyspaces, part by part.
type Walker struct {
	Keyspaces     []models.Keyspace
	Parts, AtOnce int
	What          string // that is read: keys
	Report        func(string, ...any)

	// name is what the walk can be resumed by, empty: it cannot. Resume goes on where one of that name was stopped.
	name   string
	resume bool
	notes  store.WalkStore
}

// Walk calls do with each part, several at once, until one fails. do tells with read what it has read; when it returns true the
// part need not be read again by one who resumes. It returns what earlier walks had read of the parts that were left out.
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

func (w *Walker) all() (parts []store.Part) {
	for _, keyspace := range w.Keyspaces {
		for number := range w.Parts {
			parts = append(parts, store.Part{Keyspace: keyspace, Number: number, Of: w.Parts})
		}
	}
	return parts
}

// walked is how far a walk is.
type walked struct {
	Of   int                       `json:"of"` // parts of a keyspace
	Keys int                       `json:"keys"`
	Done map[models.Keyspace][]int `json:"done"`
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

// load reads how far the walk was that is to be resumed.
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
		return fresh, nil //nolint:nilerr // another version's: begin anew
	}
	w.Report("going on: %d of %d parts are done, %d %s were read", done.parts(), w.Parts*len(w.Keyspaces), done.Keys, w.What)
	return done, nil
}

// save notes how far the walk is. Without any part done it is over, or never began. Should it fail, one who resumes has more to read.
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
		w.Report("how far this is could not be noted: %v", err)
	}
}

// walkAttempts is how often a read of a walk is tried: one that takes hours must not end because one read timed out.
const walkAttempts = 6

// patiently tries a read again when it fails.
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

// progress tells how fast a walk goes and when it will be over. Safe for concurrent use.
type progress struct {
	what   string
	report func(string, ...any)
	of     int // parts
	before int // parts that earlier walks have read

	mu                   sync.Mutex
	started, told, saved time.Time
	keys, parts          int // read in this walk
	done                 walked
}

func newProgress(what string, of int, done walked, report func(string, ...any)) *progress {
	now := time.Now()
	return &progress{
		what: what, of: of, before: done.parts(), report: report, started: now, told: now, saved: now, done: done.clone(),
	}
}

// read notes that n more are read, and now and then says so.
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

// line says how much is read, how fast, and when it will be over, if the parts that are left take as long as the others did.
func (p *progress) line(took time.Duration) string {
	text := fmt.Sprintf("%d %s read, %.0f a second; %d of %d parts", p.keys, p.what, float64(p.keys)/took.Seconds(), p.before+p.parts, p.of)
	if p.parts > 0 {
		left := took / time.Duration(p.parts) * time.Duration(p.of-p.before-p.parts)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// finished notes that a part is read; whole: it need not be again. It tells whether it is time to save that.
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
