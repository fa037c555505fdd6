package deadletters

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"footfall/models"
)

// Mender makes events of letters. Safe for concurrent use.
type Mender struct {
	Plan           *models.Plan
	Clicks, Visits string // the topics, as configured
	Rules          Rules
	Ahead          time.Duration // how far ahead of the clock an event may be, as at the producer
	// Refuse says why consumers would not count an event, although it is valid; nil if they would. Default: they count all.
	Refuse func(models.Event) *models.Invalid
}

// Mended is an event made of a letter.
type Mended struct {
	Event   models.Event
	Value   []byte // on the wire
	Base    string // the topic that it belongs to, as configured
	Changed []int  // the rules that changed something
}

// Reasons for which a letter is not sent, besides those of events.
const (
	ReasonTruncated  = "truncated"   // the letter holds a part of the message only
	ReasonOtherTopic = "other_topic" // it comes from a topic that is not counted
)

// Mend makes an event of a letter: it applies the rules, fills in what the producer fills in, and checks the event as the producer does. An event
// without an id gets one that follows from its origin. It returns why consumers could not count it; nil: they can.
func (m *Mender) Mend(l Letter, now time.Time) (Mended, *models.Invalid) {
	if l.Truncated {
		return Mended{}, &models.Invalid{Reason: ReasonTruncated, Detail: "the message was too large for a dead letter"}
	}
	base, _ := models.SplitGeneration(l.Origin.Topic)
	if base != m.Clicks && base != m.Visits {
		return Mended{}, &models.Invalid{Reason: ReasonOtherTopic, Detail: models.Excerpt(l.Origin.Topic)}
	}
	value, changed, err := m.Rules.Apply(l.Value)
	if err != nil {
		return Mended{}, asInvalid(err)
	}
	out := Mended{Base: base, Changed: changed}
	if base == m.Clicks {
		click, _, err := models.TakeClick(value)
		if err != nil {
			return out, asInvalid(err)
		}
		complete(l, &click.V, &click.ID)
		out.Event = click
	} else {
		visit, err := m.Plan.TakeVisit(value)
		if err != nil {
			return out, asInvalid(err)
		}
		complete(l, &visit.V, &visit.ID)
		out.Event = visit
	}
	if err := out.Event.Validate(); err != nil {
		return out, asInvalid(err)
	}
	if out.Event.Time().Sub(now) > m.Ahead {
		return out, &models.Invalid{Reason: models.ReasonTimestampInFuture, Detail: fmt.Sprintf("more than %v ahead of the clock", m.Ahead)}
	}
	if m.Refuse != nil {
		if why := m.Refuse(out.Event); why != nil {
			return out, why
		}
	}
	if out.Value, err = models.AppendEvent(nil, out.Event); err != nil {
		return out, asInvalid(err)
	}
	return out, nil
}

// complete fills in what the producer fills in. A sender's id stays: if the sender has sent the event again meanwhile, the consumer finds a duplicate.
// Consumers have seen the id of a visit to a retired interval, and would take the mended visit for a duplicate: it gets another one. The
// caller has to know that the visit is refused to this day.
func complete(l Letter, version *int, id *string) {
	if *version == 0 {
		*version = models.Version
	}
	if *id == "" || l.Reason == models.ReasonIntervalRetired {
		sum := sha256.Sum256([]byte(Name(l.Origin)))
		*id = "replayed-" + hex.EncodeToString(sum[:16])
	}
}

func asInvalid(err error) *models.Invalid {
	invalid := &models.Invalid{Reason: models.ReasonBadJSON, Detail: models.Excerpt(err.Error())}
	_ = errors.As(err, &invalid)
	return invalid
}
