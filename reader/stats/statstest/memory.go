package statstest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// Memory is a stats.Store in memory, and the Tables that fill it. It is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	plan     *models.Plan
	cells    Counts
	seen     map[models.Sighting]bool
	long     map[string]string
	latest   []models.LatestClick
	names    map[models.Name]bool
	progress map[models.Partition]stats.Progress
	doubts   map[string]int
	split    map[string]int // partitions by topic
	retired  models.Millis
	err      error
}

var (
	_ stats.Store = (*Memory)(nil)
	_ Tables      = (*Memory)(nil)
)

// NewMemory makes an empty store for tables of a plan.
func NewMemory(plan *models.Plan) *Memory {
	return &Memory{plan: plan, cells: Counts{}, seen: map[models.Sighting]bool{}, long: map[string]string{},
		names: map[models.Name]bool{}, progress: map[models.Partition]stats.Progress{}, doubts: map[string]int{}, split: map[string]int{}}
}

// Fail lets every question from now on end with err; nil: no longer.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// Add counts events, each at once and in their order, and lists their names, as consumers do.
func (m *Memory) Add(events ...models.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range events {
		var first []bool
		for _, s := range e.Sightings() {
			first = append(first, !m.seen[s])
			m.seen[s] = true
		}
		e.Count(first, func(key models.Key, cell models.Cell, n int64) {
			m.cells.Add(key, cell, n)
			m.plan.Names(key, map[models.Cell]int64{cell: n}, func(name models.Name) { m.names[name] = true })
		})
	}
}

// Count implements Tables.
func (m *Memory) Count(_ testing.TB, cells Counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, cells := range cells {
		for cell, n := range cells {
			m.cells.Add(key, cell, n)
		}
	}
}

// Lead implements Tables.
func (m *Memory) Lead(_ testing.TB, link, long string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.long[link] = long
}

// Keep implements Tables.
func (m *Memory) Keep(_ testing.TB, clicks ...models.LatestClick) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest = append(m.latest, clicks...)
}

// List implements Tables.
func (m *Memory) List(_ testing.TB, names ...models.Name) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		m.names[name] = true
	}
}

// Note implements Tables.
func (m *Memory) Note(_ testing.TB, p stats.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress[p.Partition] = p
}

// Split implements Tables.
func (m *Memory) Split(_ testing.TB, topic string, partitions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.split[topic] = partitions
}

// Doubt implements Tables.
func (m *Memory) Doubt(_ testing.TB, p models.Partition, _ int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubts[p.Topic]++
}

// Retire implements Tables.
func (m *Memory) Retire(_ testing.TB, before models.Millis, done bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if done {
		m.retired = max(m.retired, before)
	}
	return true
}

// asked runs a question under the lock, and returns what a sequence yields afterwards.
func asked[T any](ctx context.Context, m *Memory, question func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		m.mu.Lock()
		rows, err := question(), cmp.Or(m.err, ctx.Err())
		m.mu.Unlock()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Names implements stats.Store.
func (m *Memory) Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error] {
	return asked(ctx, m, func() (out []string) {
		for n := range m.names {
			if of.Value = n.Value; n == of && within.Has(n.Value) {
				out = append(out, n.Value)
			}
		}
		slices.Sort(out)
		return out
	})
}

// Latest implements stats.Store.
func (m *Memory) Latest(ctx context.Context, link string, day models.Millis) iter.Seq2[stats.Click, error] {
	return asked(ctx, m, func() (out []stats.Click) {
		for _, c := range m.latest {
			if c.ShortURL == link && c.Day == day {
				out = append(out, stats.Click{At: c.TS.Time(), Country: c.Country, Referrer: c.Referrer, IP: c.IP, Bot: c.Bot, ID: c.ID})
			}
		}
		slices.SortStableFunc(out, func(a, b stats.Click) int { return b.At.Compare(a.At) })
		return out
	})
}

// Progress implements stats.Store.
func (m *Memory) Progress(ctx context.Context) ([]stats.Progress, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.progress)), cmp.Or(m.err, ctx.Err())
}

// Partitions implements stats.Store.
func (m *Memory) Partitions(ctx context.Context, topic string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.split[topic], cmp.Or(m.err, ctx.Err())
}

// Doubts implements stats.Store.
func (m *Memory) Doubts(ctx context.Context) (map[string]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.doubts), cmp.Or(m.err, ctx.Err())
}

// RetiredBefore implements stats.Store.
func (m *Memory) RetiredBefore(ctx context.Context) (models.Millis, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.retired, cmp.Or(m.err, ctx.Err())
}

// NoteNow notes that all of a topic's one partition is counted, as a consumer that runs and is not behind does.
func (m *Memory) NoteNow(topic string, events int64) {
	now := time.Now().Truncate(time.Millisecond)
	m.Note(nil, stats.Progress{Partition: models.Partition{Topic: topic}, Counted: events, LogEnd: events, EventTime: now, At: now})
}

func compareLabels(a, b stats.Share) int { return strings.Compare(a.Label, b.Label) }
