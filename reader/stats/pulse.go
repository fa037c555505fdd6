package stats

import (
	"context"
	"sync"
	"time"

	"footfall/models"
)

const (
	// Bars is how many seconds a Beat has.
	Bars = 60
	// Growing is how many of the last bars may still grow: consumers note once a second how far they are, and a Pulse reads it as often.
	Growing = 3

	pulseEvery   = time.Second
	pulseTimeout = 5 * time.Second // of one read
	// keptSeconds is more than Bars, for rows whose moment is a little ahead.
	keptSeconds = 90
	// restedFor is the longest time between two notes of a consumer that has nothing to count: five seconds, and one until it looks again.
	restedFor = 6 * time.Second
)

// Pulse watches how fast events are counted, of all links and sites together. It is safe for concurrent use.
type Pulse struct {
	store Store
	now   func() time.Time

	mu             sync.Mutex
	since, read    time.Time
	clicks, visits beating
}

// NewPulse makes a Pulse that has seen nothing yet. clicks and visits are the topics' names in the configuration; now is time.Now but in
// tests.
func NewPulse(store Store, clicks, visits string, now func() time.Time) *Pulse {
	return &Pulse{store: store, now: now, clicks: newBeating(clicks), visits: newBeating(visits)}
}

// Minute is what was counted in the last minute.
type Minute struct {
	Since          time.Time     // when the Pulse first read how far consumers are; zero: it never did
	Read           time.Time     // when it last did; it is seconds ago if the store does not answer
	Watched        time.Duration // how much of the minute was watched, in whole seconds: less than a minute if Since is within it
	End            time.Time     // of the last bar: the end of the current second
	Clicks, Visits Beat
}

// Beat is what was counted of one topic and its generations. Duplicates and events that were refused are among them: it tells how fast
// consumers get on, not what a count has grown by.
type Beat struct {
	Counted  int64       // the sum of the bars
	Bars     [Bars]int64 // by second, oldest first; the last Growing may still grow
	Lag      int64       // events in the log that are not counted yet
	Counting bool        // every partition that is known of has a consumer that runs
}

// Run reads once a second until ctx ends. What fails is tried again a second later; Minute.Read tells.
func (p *Pulse) Run(ctx context.Context) {
	ticker := time.NewTicker(pulseEvery)
	defer ticker.Stop()
	for {
		_ = p.ReadOnce(ctx) // Minute.Read stays where it was
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ReadOnce reads how far consumers are, which is one partition of one table. Run calls it.
func (p *Pulse) ReadOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pulseTimeout)
	defer cancel()
	rows, err := p.store.Progress(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.since.IsZero() {
		p.since, p.read = now, now
	}
	p.clicks.take(rows, p.read, now)
	p.visits.take(rows, p.read, now)
	p.read = now
	return nil
}

// Last is the minute until now.
func (p *Pulse) Last() Minute {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	end := now.Truncate(time.Second).Add(time.Second)
	m := Minute{Since: p.since, Read: p.read, End: end, Clicks: p.clicks.beat(p.since, now, end), Visits: p.visits.beat(p.since, now, end)}
	if !p.since.IsZero() {
		m.Watched = min(Bars*time.Second, now.Sub(p.since).Truncate(time.Second))
	}
	return m
}

// beating is what is kept of one topic.
type beating struct {
	topic   string
	marks   map[models.Partition]mark
	seconds [keptSeconds]second // by Unix time modulo their number
	rows    []Progress          // as last read
}

// mark is how far a partition was when it was last seen to get on.
type mark struct {
	counted int64
	at      time.Time
	rested  bool // nothing was counted between the last note and the one before
}

type second struct{ unix, counted int64 }

func newBeating(topic string) beating {
	return beating{topic: topic, marks: map[models.Partition]mark{}}
}

// take adds what was counted between two reads.
func (b *beating) take(rows []Progress, before, now time.Time) {
	b.rows = relevant(rows, b.topic)
	for _, row := range rows {
		if generation(row.Partition.Topic, b.topic) == 0 {
			continue
		}
		last, known := b.marks[row.Partition]
		switch {
		case known && !row.At.After(last.at): // the same row, or that of a replica which is behind
			continue
		case !known, row.LogEnd < last.counted: // of a new partition nobody knows when it was counted; a log that ends earlier is another log
			b.marks[row.Partition] = mark{counted: row.Counted, at: row.At}
			continue
		}
		if counted := row.Counted - last.counted; counted > 0 { // less, if the group was set back: what is counted already does not count again
			from, to := interval(last, row.At, before, now)
			b.spread(counted, from, to)
		}
		b.marks[row.Partition] = mark{max(row.Counted, last.counted), row.At, row.Counted <= last.counted}
	}
}

// interval is when events were counted that a row has and the one before, last, had not. The row was noted at, and read between the
// moments before and now.
func interval(last mark, at, before, now time.Time) (from, to time.Time) {
	from, to = last.at, at
	if (last.rested || to.Sub(from) > restedFor) && now.Sub(before) <= restedFor {
		// A consumer that runs would have noted within a second what it counted earlier, and we would have read it. One that was silent for
		// longer than it rests was away.
		if begin := to.Add(-max(pulseEvery, now.Sub(before))); begin.After(from) {
			from = begin
		}
	}
	if ahead := to.Sub(now); ahead > 0 || ahead < before.Sub(now)-silentAfter { // the consumer's clock is wrong
		from, to = from.Add(-ahead), to.Add(-ahead)
	}
	return from, to
}

// spread divides events among the seconds from one moment to another. What does not divide comes late rather than early.
func (b *beating) spread(counted int64, from, to time.Time) {
	whole, done := to.Sub(from).Seconds(), int64(0)
	begin := max(from.Unix(), to.Unix()-keptSeconds)
	for unix := begin; done < counted; unix++ {
		sum := counted
		if end := time.Unix(unix+1, 0); end.Before(to) {
			sum = int64(float64(counted) * (end.Sub(from).Seconds() / whole))
		}
		if unix > begin || begin == from.Unix() { // else what was counted earlier than is kept
			b.add(unix, sum-done)
		}
		done = sum
	}
}

func (b *beating) add(unix, counted int64) {
	slot := &b.seconds[unix%keptSeconds]
	if slot.unix < unix {
		*slot = second{unix: unix}
	}
	if slot.unix == unix {
		slot.counted += counted
	}
}

// beat is what was counted in the seconds until end. What was counted before since is known in part only, and left out.
func (b *beating) beat(since, now, end time.Time) (out Beat) {
	as := reach(b.rows, now)
	out.Lag, out.Counting = as.Lag, as.Counting
	for i := range out.Bars {
		unix := end.Unix() - Bars + int64(i)
		if slot := b.seconds[unix%keptSeconds]; slot.unix == unix && unix >= since.Unix() {
			out.Bars[i] = slot.counted
			out.Counted += slot.counted
		}
	}
	return out
}
