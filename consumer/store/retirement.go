package store

import (
	"slices"
	"time"

	"footfall/models"
)

// Notices is what consumers have to be told while they run.
type Notices struct {
	Retirements Retirements
	// Forgotten changes each time somebody removes a visitor's rows: what is remembered of visitors is no longer true.
	Forgotten string
}

// NoticeAge is how old the notices may be that something is decided by. Consumers that count nothing do not ask.
const NoticeAge = 2 * time.Second

// NoticeMargin is how long after a notice was given nobody decides without it any more.
const NoticeMargin = 3 * NoticeAge

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

	// ID is the announcement's, another one each time: what is decided for one that was given up must not be for the next. It is 0 once
	// decided, and if an older version announced it.
	ID int64
}

func (r Retirement) speaksOf(e models.Event) bool {
	v, ok := e.(*models.Visit)
	return ok && v.TS < r.Before
}

// Decided tells whether it is known from which offsets on it takes effect.
func (r Retirement) Decided() bool { return r.From != nil }

// reached tells whether the offset lies where visits are refused. All earlier generations of the topic lie before that, all later ones
// beyond.
func (r Retirement) reached(p models.Partition, offset int64) bool {
	if !r.Decided() {
		return false
	}
	if p.Topic == r.Topic {
		return offset >= r.From[p.Number]
	}
	base, n := models.SplitGeneration(p.Topic)
	decided, last := models.SplitGeneration(r.Topic)
	return base != decided || n > last
}

// Retirements are those that there are.
type Retirements []Retirement

// Undecided finds a retirement that will decide about the event.
func (list Retirements) Undecided(e models.Event) (Retirement, bool) {
	i := slices.IndexFunc(list, func(r Retirement) bool { return !r.Decided() && r.speaksOf(e) })
	if i < 0 {
		return Retirement{}, false
	}
	return list[i], true
}

// Refuse tells why the event at this place must not be counted, or nil.
func (list Retirements) Refuse(p models.Partition, offset int64, e models.Event) *models.Invalid {
	for _, r := range list {
		if r.speaksOf(e) && r.reached(p, offset) {
			return &models.Invalid{Reason: models.ReasonIntervalRetired, Detail: "visits before " +
				r.Before.Time().Format("2006-01-02") + " are no longer counted"}
		}
	}
	return nil
}

// Past tells whether the event was counted before a retirement was done with. Its visitor's rows may be gone: whoever meets it
// again, because offsets were reset or a pause was long, can no longer tell what it was worth, and need not.
func (list Retirements) Past(p models.Partition, offset int64, e models.Event) bool {
	return slices.ContainsFunc(list, func(r Retirement) bool {
		return r.Done && r.speaksOf(e) && !r.reached(p, offset)
	})
}

// RowsGone tells whether rows that remember the event's visitor may be gone.
func (list Retirements) RowsGone(e models.Event) bool {
	return slices.ContainsFunc(list, func(r Retirement) bool {
		return r.Done && slices.ContainsFunc(e.Sightings(), func(s models.Sighting) bool { return s.Closed(r.Before) })
	})
}
