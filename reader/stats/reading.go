package stats

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"footfall/models"
)

const (
	// clocksApart is how far the clocks of consumers and readers may be apart for Bounds to be true. Where a consumer's clock is seen to
	// be ahead, that much is added.
	clocksApart = time.Second
	// askAgain is how often Reading.End looks for new notes of consumers. They write one a second, or every five while nothing comes.
	askAgain = 200 * time.Millisecond
)

// Reading is a time in which counts are read while consumers may go on counting.
type Reading struct {
	reader *Reader
	topic  string
	oldest int // generation: all of those before it is counted
	before map[models.Partition]Progress
	ahead  time.Duration // by how much a consumer's clock was seen to be ahead of ours
	doubts int           // that were open before the first count was read
}

// Bound says which events of a Kafka partition are in counts that took some time to read.
type Bound struct {
	Partition models.Partition
	// CountedBefore: every event below this offset is contained, as far as no doubt is open.
	CountedBefore int64
	// Below: no event at this offset or beyond is contained. -1: not known.
	Below int64
}

// begin reads how far the partitions of a topic are. It must be called before the first count is read.
func (r *Reader) begin(ctx context.Context, topic string) (*Reading, error) {
	rows, err := r.store.Progress(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading how far the counts reach: %w", err)
	}
	g := &Reading{reader: r, topic: topic, oldest: begun(rows, topic), before: map[models.Partition]Progress{}}
	rows = since(rows, topic, g.oldest)
	for _, row := range rows {
		g.before[row.Partition] = row
	}
	g.ahead = ahead(rows, r.now())
	if g.doubts, err = g.open(ctx); err != nil { // after the progress: one that was settled in between is in the counts
		return nil, err
	}
	return g, g.addRecorded(ctx)
}

// open asks the store how many doubts are open now; as_of may know them from a second ago.
func (g *Reading) open(ctx context.Context) (int, error) {
	doubts, err := g.reader.store.Doubts(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading which counts are in doubt: %w", err)
	}
	return doubtsOf(doubts, g.topic), nil
}

// Doubts is how many doubts were open before the first count was read, and are now. It must be called after End or EndOfNothing: a consumer
// may come to doubt what it has noted as counted before. One that was opened and settled in between is in neither.
func (g *Reading) Doubts(ctx context.Context) (before, after int, err error) {
	after, err = g.open(ctx)
	return g.doubts, after, err
}

// addRecorded adds the partitions that are recorded and have no row: something of them may be counted all the same. Each is recorded before
// anything of it is counted.
func (g *Reading) addRecorded(ctx context.Context) error {
	newest, err := g.reader.newest(ctx, g.topic)
	if err != nil {
		return fmt.Errorf("reading how far the counts reach: %w", err)
	}
	for n := g.oldest; n <= newest; n++ {
		topic := models.GenerationTopic(g.topic, n)
		partitions, err := g.reader.partitionsOf(ctx, topic)
		if err != nil {
			return fmt.Errorf("reading how far the counts reach: %w", err)
		}
		for i := range partitions {
			g.add(models.Partition{Topic: topic, Number: i})
		}
	}
	return nil
}

// add adds a partition of which nothing was known before.
func (g *Reading) add(p models.Partition) {
	if _, known := g.before[p]; !known {
		g.before[p] = Progress{Partition: p}
	}
}

// ahead is by how much the latest note is later than now: it is earlier if clocks agree.
func ahead(rows []Progress, now time.Time) (most time.Duration) {
	for _, row := range rows {
		most = max(most, row.At.Sub(now))
	}
	return most
}

// End says which events the counts contain. It must be called after the last of them was read. It waits for notes of consumers that are
// newer than that, as long as consumers run and for wait at the most. alive is told whenever the store has answered. Earlier
// generations of a topic, which have no bounds, are contained whole.
//
// Why Below is true: a consumer counts an event after it has read it from Kafka, so its offset was below the log's end by then. The end
// never moves back (an election of a leader that is behind, which Kafka does not do unless told to, would lose events anyway). A consumer
// takes the time, then asks Kafka for the end, then notes both (consumer/rollup, lag.go). So the end in a note whose time is later than
// the last count's reading is beyond every event in the counts, also those of a chunk that was partly written, by whichever consumer.
// Of a sealed partition the note has the seal: nothing beyond it is ever counted there.
func (g *Reading) End(ctx context.Context, wait time.Duration, alive func()) ([]Bound, error) {
	ended := g.reader.now()
	if err := g.addRecorded(ctx); err != nil { // a next generation may have been made meanwhile
		return nil, err
	}
	for {
		rows, err := g.reader.store.Progress(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading how far the counts reach: %w", err)
		}
		now := g.reader.now()
		alive()
		rows = since(rows, g.topic, g.oldest)
		g.ahead = max(g.ahead, ahead(rows, now))
		bounds, coming := g.bounds(rows, ended.Add(clocksApart+g.ahead), now)
		if !coming || now.Sub(ended) >= wait {
			return bounds, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(askAgain):
		}
	}
}

// EndOfNothing is End where no count was found: no event is contained, and none below what was counted is missing.
func (g *Reading) EndOfNothing() []Bound {
	out := g.sorted()
	for i := range out {
		out[i].Below = out[i].CountedBefore
	}
	return out
}

// bounds are those that notes later than a moment tell. coming: a consumer that runs has not noted anything since, and will.
func (g *Reading) bounds(rows []Progress, after, now time.Time) (out []Bound, coming bool) {
	noted := map[models.Partition]Progress{}
	for _, row := range rows {
		noted[row.Partition] = row
		g.add(row.Partition)
	}
	out = g.sorted()
	for i, b := range out {
		if row := noted[b.Partition]; row.At.After(after) {
			out[i].Below = row.LogEnd
		} else {
			coming = coming || now.Sub(row.At) < silentAfter
		}
	}
	return out, coming
}

// sorted are the partitions by generation and number, without an upper bound.
func (g *Reading) sorted() (out []Bound) {
	for p, row := range g.before {
		out = append(out, Bound{Partition: p, CountedBefore: row.Counted, Below: -1})
	}
	slices.SortFunc(out, func(a, b Bound) int {
		return cmp.Or(cmp.Compare(generation(a.Partition.Topic, g.topic), generation(b.Partition.Topic, g.topic)), cmp.Compare(a.Partition.Number, b.Partition.Number))
	})
	return out
}
