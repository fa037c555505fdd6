package stats

import (
	"context"
	"iter"
	"time"

	"footfall/models"
)

// Store is what a Reader asks a database. All methods are safe for concurrent use. A sequence ends after its first error; it stops
// reading when its consumer stops or when ctx ends, and can be run through once. Names come back as they were counted.
type Store interface {
	// Plan is what the tables keep of visits. It never changes.
	Plan() *models.Plan

	// Link reads the totals of a link; the zero value if nothing is known of it.
	Link(ctx context.Context, link string) (LinkTotals, error)

	// Points reads the cells of one of a key's counters that has an interval and no label: those that begin within a range, oldest first. An
	// interval of which nothing was counted has no point.
	Points(ctx context.Context, key models.Key, counter string, within Range) iter.Seq2[Point, error]

	// Shares reads the cells of one of a link's counters that has a label: those of all time in the order of the labels' bytes, of a month as well,
	// and of several months in any order.
	Shares(ctx context.Context, link, counter string, within Range) iter.Seq2[Share, error]

	// Amounts reads what a link's clicks were worth, by day, oldest first.
	Amounts(ctx context.Context, link string, within Range) iter.Seq2[Amount, error]

	// Latest reads the latest clicks of a day that are still kept, newest first.
	Latest(ctx context.Context, link string, day models.Millis) iter.Seq2[Click, error]

	// Counts reads all cells of a site's key, in any order: as many as a month has hours, days and weeks at the most.
	Counts(ctx context.Context, key models.Key) ([]Count, error)

	// Ranked is the sum of what Points reads, for each of the keys and in their order; 0 where nothing was counted. It is for many
	// keys at once, which are all of links or all of sites.
	Ranked(ctx context.Context, keys []models.Key, counter string, within Range) ([]int64, error)

	// Names reads the list that a name without its value says: each value once, in an order that stays; within bounds them. A name may be listed of
	// which nothing was counted, never the other way round.
	Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error]

	// Progress reads how far consumers have counted, of all topics, in any order.
	Progress(ctx context.Context) ([]Progress, error)

	// Partitions is how many partitions a Kafka topic had when it was first counted; 0 if it never was.
	Partitions(ctx context.Context, topic string) (int, error)

	// Doubts counts the open doubts of each Kafka topic; one without any is absent.
	Doubts(ctx context.Context) (map[string]int, error)

	// RetiredBefore is the latest moment before which all visits are final, because their visitors are retired; 0 if none.
	RetiredBefore(ctx context.Context) (models.Millis, error)
}

// LinkTotals is what is known of a link for its whole life.
type LinkTotals struct {
	LongURL string // where it leads; empty if footfall did not make it
	Clicks  int64
	Unique  int64 // different visitors
	Bots    int64 // clicks of bots, which are in no other number
}

// Point is a number of one hour, day, week or month.
type Point struct {
	Start models.Millis
	Count int64
}

// Columns are where the columns of a row go, as for the other rows below: a time as every database of ours has it.
func (p *Point) Columns() []any { return []any{&p.Start, &p.Count} }

// Count is a counter of a key: one of models.AllMetrics, in the interval that begins at Start.
type Count struct {
	Metric string
	Start  models.Millis
	Count  int64
}

// Columns are where the columns of a row go.
func (c *Count) Columns() []any { return []any{&c.Metric, &c.Start, &c.Count} }

// Share is a number of one country, referrer or value.
type Share struct {
	Label string
	Count int64
}

// Columns are where the columns of a row go.
func (s *Share) Columns() []any { return []any{&s.Label, &s.Count} }

// Amount is what the clicks of one day, week or month were worth: how many had an amount, and the sum in the smallest unit.
type Amount struct {
	Start    models.Millis
	Num, Sum int64
}

// Columns are where the columns of a row go.
func (a *Amount) Columns() []any { return []any{&a.Start, &a.Num, &a.Sum} }

// Click is one of the latest clicks.
type Click struct {
	At       time.Time // in whole milliseconds, UTC
	Country  string    // ISO 3166 alpha-2, ZZ when unknown
	Referrer string    // empty for a direct click
	IP       string    // as it is kept: a hash with privacy.ip: hashed
	Bot      bool
	ID       string
}

// Columns are where the columns of a row go.
func (c *Click) Columns() []any { return []any{&c.At, &c.Country, &c.Referrer, &c.IP, &c.Bot, &c.ID} }

// Progress is how far a consumer has counted one Kafka partition.
type Progress struct {
	Partition models.Partition
	Counted   int64     // every event below this offset is counted
	LogEnd    int64     // the end of the log, as last seen
	EventTime time.Time // Kafka's time of the last message counted; zero if none was
	At        time.Time // when this was noted
}

// Columns are where the columns of a row go.
func (p *Progress) Columns() []any {
	return []any{&p.Partition.Topic, &p.Partition.Number, &p.Counted, &p.LogEnd, &p.EventTime, &p.At}
}
