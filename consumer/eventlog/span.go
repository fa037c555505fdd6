package eventlog

import (
	"fmt"

	"footfall/models"
)

// Span is the offsets [from, to) of one partition.
type Span struct{ From, To int64 }

// Of names the events of a partition.
func (s Span) Of(p models.Partition) string {
	return fmt.Sprintf("%d events of topic %s, partition %d (offsets %d to %d)", s.To-s.From, p.Topic, p.Number, s.From, s.To-1)
}

// Intersect is what both have; it may be empty.
func (s Span) Intersect(t Span) Span { return Span{max(s.From, t.From), min(s.To, t.To)} }

// Empty tells that it has no offset.
func (s Span) Empty() bool { return s.From >= s.To }
