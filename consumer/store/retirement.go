package store

import (
	"slices"
	"time"

	"footfall/models"
)

// Notices are what consumers have to know while they run.
type Notices struct {
	Retirements Retirements
	// Forgotten changes each time consumer forget removes a visitor's rows: caches of visitors are then out of date.
	Forgotten string
}

// NoticeAge is how old the notices may be by which a consumer decides. Consumers that count nothing do not read them.
const NoticeAge = 2 * time.Second

// NoticeMargin is the time after which no consumer decides without a notice any more.
const NoticeMargin = 3 * NoticeAge

// Retirement says from which offsets on visits before a moment are refused, since the rows of their visitors are removed, or
// about to be. It is a fact of the log: all who read the same offsets decide alike.
//
// It is announced first; from then on consumers count no visit before that moment. When every consumer must know of it, it is
// decided: it takes effect from where the log ends then.
type Retirement struct {
	Before models.Millis
	Topic  string        // of visits; on any other, except its earlier generations, all visits before the moment are refused
	From   map[int]int64 // by partition; nil: announced, not decided
	Done   bool          // all visits below From are counted; rows of closed intervals may be gone

	// ID is another one for each announcement: a decision about one that was withdrawn must not apply to the next. It is 0 once
	// decided.
	ID int64
}

func (r Retirement) speaksOf(e models.Event) bool {
	v, ok := e.(*models.Visit)
	return ok && v.TS < r.Before
}

// Decided tells whether the offsets are known from which it takes effect.
func (r Retirement) Decided() bool { return r.From != nil }

// reached tells whether visits are refused at the offset. In earlier generations of the topic they never are, in later ones always.
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

// Retirements are all retirements that a store knows.
type Retirements []Retirement

// Undecided finds a retirement that is announced, and that the event has to wait for.
func (list Retirements) Undecided(e models.Event) (Retirement, bool) {
	i := slices.IndexFunc(list, func(r Retirement) bool { return !r.Decided() && r.speaksOf(e) })
	if i < 0 {
		return Retirement{}, false
	}
	return list[i], true
}

// Refuse returns why the event at this offset must not be counted, or nil.
func (list Retirements) Refuse(p models.Partition, offset int64, e models.Event) *models.Invalid {
	for _, r := range list {
		if r.speaksOf(e) && r.reached(p, offset) {
			return &models.Invalid{Reason: models.ReasonIntervalRetired, Detail: "visits before " +
				r.Before.Time().Format("2006-01-02") + " are no longer counted"}
		}
	}
	return nil
}

// Past tells whether the event was counted before a retirement was done. Its visitor's rows may be gone: a consumer that reads it
// again, after an offset reset or a long pause, can no longer decide what it adds, and need not.
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
