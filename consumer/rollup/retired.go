package rollup

import (
	"context"
	"slices"

	"footfall/models"
)

// Retirement says from where on in the log visits before a moment are refused, since the rows that remember their visitors
// are gone, or about to go. It is a fact of the log: whoever reads the same offsets decides alike.
//
// It is announced first. When every consumer must have noticed, the ends of the log at that moment are what it takes effect
// from; nobody counts a visit that it speaks of in between.
type Retirement struct {
	Before models.Millis
	Topic  string        // of visits; on any other, but for its earlier generations, all that it speaks of is refused
	From   map[int]int64 // by partition; nil: announced, not decided
	Done   bool          // all that lies below From is counted; rows of closed intervals may be gone
}

func (r Retirement) speaksOf(e models.Event) bool {
	v, ok := e.(*models.Visit)
	return ok && v.TS < r.Before
}

func (r Retirement) decided() bool { return r.From != nil }

// reached tells whether the offset lies where visits are refused. All earlier generations of the topic lie before that, all later ones
// beyond.
func (r Retirement) reached(p models.Partition, offset int64) bool {
	if !r.decided() {
		return false
	}
	if p.Topic == r.Topic {
		return offset >= r.From[p.Number]
	}
	base, n := models.SplitGeneration(p.Topic)
	decided, last := models.SplitGeneration(r.Topic)
	return base != decided || n > last
}

// undecided finds a retirement that will decide about the event.
func undecided(list []Retirement, e models.Event) (Retirement, bool) {
	i := slices.IndexFunc(list, func(r Retirement) bool { return !r.decided() && r.speaksOf(e) })
	if i < 0 {
		return Retirement{}, false
	}
	return list[i], true
}

// refused tells why the event at this place must not be counted, or nil.
func refused(list []Retirement, p models.Partition, offset int64, e models.Event) *models.Invalid {
	for _, r := range list {
		if r.speaksOf(e) && r.reached(p, offset) {
			return &models.Invalid{Reason: models.ReasonIntervalRetired, Detail: "visits before " +
				r.Before.Time().Format("2006-01-02") + " are no longer counted"}
		}
	}
	return nil
}

// past tells whether the event was counted before a retirement was done with. Its visitor's rows may be gone: whoever meets it
// again, because offsets were reset or a pause was long, can no longer tell what it was worth, and need not.
func past(list []Retirement, p models.Partition, offset int64, e models.Event) bool {
	return slices.ContainsFunc(list, func(r Retirement) bool {
		return r.Done && r.speaksOf(e) && !r.reached(p, offset)
	})
}

// skipPast takes what is past out of a chunk whose visitors have been looked up. Rows go only a while after a retirement is
// done with, so a copy of the notices that is fresh now tells whether they were there when they were looked up.
func (o *ownership) skipPast(ctx context.Context, c *chunk) error {
	if o.board == nil {
		return nil // a test without notices
	}
	if err := o.board.fresh(ctx); err != nil {
		return err
	}
	list := o.board.list()
	before := len(c.events)
	c.events = slices.DeleteFunc(c.events, func(e *counted) bool { return past(list, e.partition, e.offset, e.event) })
	if len(c.events) < before {
		c.added = nil
	}
	return nil
}

// gone tells whether rows that remember the event's visitor may be gone.
func gone(list []Retirement, e models.Event) bool {
	return slices.ContainsFunc(list, func(r Retirement) bool {
		return r.Done && slices.ContainsFunc(e.Sightings(), func(s models.Sighting) bool { return s.Closed(r.Before) })
	})
}
