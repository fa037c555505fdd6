package export

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/table"
)

// Manifest says what an export is, whether it is whole, and which events it contains.
type Manifest struct {
	Version      int                 `json:"manifest"` // of this form: 1
	Site         string              `json:"siteId,omitempty"`
	Link         string              `json:"short_url,omitempty"`
	Month        string              `json:"month"`
	Format       Format              `json:"format"`
	Columns      []Column            `json:"columns"`
	Rows         int64               `json:"rows"`
	Bytes        int64               `json:"bytes"`
	SHA256       string              `json:"sha256"`
	Made         time.Time           `json:"made"`
	Reader       string              `json:"reader"`
	Final        bool                `json:"final"` // no row changes any more
	AsOf         stats.AsOf          `json:"as_of"`
	Contains     string              `json:"contains"` // for people
	Combinations []stats.Combination `json:"combinations,omitempty"`
	Log          Log                 `json:"log"`
}

// Log says which events of the log are contained.
type Log struct {
	// Exact: those below the offsets, and no others.
	Exact  bool   `json:"exact"`
	Reason string `json:"reason,omitempty"` // why a below is not known, or that counts are in doubt
	// DoubtsBefore and DoubtsAfter: how many doubts were open before the first count was read, and after the last.
	DoubtsBefore int        `json:"doubts_before"`
	DoubtsAfter  int        `json:"doubts_after"`
	Partitions   []Position `json:"partitions"`
}

// Position is that of one Kafka partition. Partitions of earlier generations of the topic are contained whole, and not listed.
type Position struct {
	Topic         string `json:"topic"`
	Partition     int    `json:"partition"`
	CountedBefore int64  `json:"counted_before"` // every event below is contained, as far as no doubt is open
	Below         *int64 `json:"below"`          // none at this offset or beyond is; nil: not known
}

const (
	siteContains = "Every counter of the site in the month: of the site itself, of each value of each feature, and of those combinations of values that are marked included." +
		" A feature that is empty stands for any value. Unique visitors of days, weeks and months do not add up. A week is in the month that its Monday is in."
	linkContains = "The link's clicks by hour and by day, what they were worth by day, and the clicks of the month by what the plan keeps (clicks_by): country, referrer, browser, system, device. Bots and unique visitors of a link are kept for all time only, so they are not here."
)

func (e *Export) manifest() Manifest {
	m := Manifest{
		Version: 1, Site: e.what.Site, Link: e.what.Link, Month: e.what.Month.Time().Format(models.Monthly), Format: e.format, Columns: e.columns,
		Rows: e.Rows(), Made: time.Now().UTC().Truncate(time.Millisecond), AsOf: e.AsOf, Contains: linkContains,
	}
	if e.site != nil {
		m.Contains, m.Final, m.Combinations = siteContains, e.site.Final, e.site.Combinations
	}
	return m
}

// logOf writes bounds as a manifest has them. While a doubt is open an event below the offsets may not be counted, or twice.
func logOf(bounds []stats.Bound, doubtsBefore, doubtsAfter int) Log {
	l := Log{Exact: len(bounds) > 0 && doubtsBefore+doubtsAfter == 0, DoubtsBefore: doubtsBefore, DoubtsAfter: doubtsAfter, Partitions: []Position{}}
	unknown := 0
	for _, b := range bounds {
		p := Position{Topic: b.Partition.Topic, Partition: b.Partition.Number, CountedBefore: b.CountedBefore}
		if b.Below >= 0 {
			p.Below = &b.Below
		} else {
			unknown++
		}
		l.Exact = l.Exact && b.Below == b.CountedBefore
		l.Partitions = append(l.Partitions, p)
	}
	var reasons []string
	switch {
	case len(bounds) == 0:
		reasons = append(reasons, "no consumer has noted how far it is")
	case unknown > 0:
		reasons = append(reasons, fmt.Sprintf("of %d partitions no consumer noted the end of the log within %v of the last count", unknown, Wait))
	}
	if n := max(doubtsBefore, doubtsAfter); n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d doubts were open: consumers may still correct counts of events below the offsets", n))
	}
	l.Reason = strings.Join(reasons, "; ")
	return l
}

// JSON is the manifest as a text for people and programs.
func (m Manifest) JSON() []byte {
	encoded, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic(err) // it is numbers, text and times
	}
	return append(table.AppendVisible(nil, encoded), '\n')
}
