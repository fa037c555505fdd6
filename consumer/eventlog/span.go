package eventlog

import (
	"fmt"

	"footfall/models"
)

// Span is the offsets [From, To) of one partition.
type Span struct{ From, To int64 }

// Of describes the span as events of a partition, for messages.
func (s Span) Of(p models.Partition) string {
	return fmt.Sprintf("%d events of topic %s, partition %d (offsets %d to %d)", s.To-s.From, p.Topic, p.Number, s.From, s.To-1)
}

// Intersect returns the offsets in both; it may be Empty.
func (s Span) Intersect(t Span) Span { return Span{max(s.From, t.From), min(s.To, t.To)} }

// Empty tells whether the span has no offsets.
func (s Span) Empty() bool { return s.From >= s.To }
