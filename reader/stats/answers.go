package stats

import (
	"encoding/json"
	"iter"
	"time"

	"footfall/models"
)

// AsOf is how far the counts of an answer reach. It is read before them: they have at least what it says.
type AsOf struct {
	// Time: every event that was in the log by then is counted. Zero: unknown, since of some partition no consumer has said how far it is.
	Time     time.Time
	Lag      int64 // events in the log that are not counted yet, of partitions whose consumers say so
	Counting bool  // every partition has a consumer that runs
	Doubts   int   // open doubts, as of a second ago at the most: some counts may still be corrected
}

// MarshalJSON writes it as answers have it: as_of.
func (a AsOf) MarshalJSON() ([]byte, error) {
	out := struct {
		Time     *string `json:"time"`
		Lag      int64   `json:"lag_events"`
		Counting bool    `json:"counting"`
		Doubts   int     `json:"doubts"`
	}{Lag: a.Lag, Counting: a.Counting, Doubts: a.Doubts}
	if !a.Time.IsZero() {
		text := a.Time.UTC().Format(time.RFC3339Nano)
		out.Time = &text
	}
	return json.Marshal(out)
}

// With is how far two answers reach together: as far as the one that is behind.
func (a AsOf) With(b AsOf) AsOf {
	if b.Time.Before(a.Time) {
		a.Time = b.Time
	}
	return AsOf{Time: a.Time, Lag: a.Lag + b.Lag, Counting: a.Counting && b.Counting, Doubts: a.Doubts + b.Doubts}
}

// Link is the summary of a link.
type Link struct {
	LinkTotals
	AsOf AsOf
}

// Series is a number by hour, day, week or month.
type Series struct {
	Unit   Unit
	Within Range
	AsOf   AsOf
	// FinalBefore: a point whose interval ends by then does not change any more. Zero: none. Always zero for links.
	FinalBefore models.Millis
	// Points are oldest first. An interval of which nothing was counted has no point; Fill puts zeros there.
	Points iter.Seq2[Point, error]
}

// Final tells whether a point does not change any more.
func (s Series) Final(p Point) bool { return s.Unit.End(p.Start) <= s.FinalBefore }

// Shares is a number by country or another dimension.
type Shares struct {
	AsOf AsOf
	Rows iter.Seq2[Share, error]
}

// Amounts is what clicks were worth by day, week or month.
type Amounts struct {
	Unit   Unit
	Within Range
	AsOf   AsOf
	Rows   iter.Seq2[Amount, error] // oldest first; one without any amount has no row
}

// Clicks are the latest clicks of a day.
type Clicks struct {
	AsOf AsOf
	Rows iter.Seq2[Click, error] // newest first
}

// Site is the summary of a site's period.
type Site struct {
	Period Period
	Views  *int64 // nil: not kept
	Unique *int64 // different visitors; nil: not kept
	Final  bool   // the numbers do not change any more
	AsOf   AsOf
}

// Top is the ranking of a feature's values in a period.
type Top struct {
	Period Period
	Metric Metric
	Rows   []Share // largest first, then by label; values of which nothing was counted are left out
	// Values is how many values were ranked; Complete is false if there are more, of which a larger one may be missing.
	Values   int
	Complete bool
	Final    bool
	AsOf     AsOf
}

// Names is a list of links, sites or values.
type Names struct {
	AsOf AsOf
	Rows iter.Seq2[string, error] // each once, in an order that stays
}
