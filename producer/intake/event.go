package intake

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// draft is an event as its sender wrote it.
type draft struct {
	event   models.Event
	saysBot bool // a click says whether it is a bot's
}

// sender is what is known of who sent a request.
type sender struct {
	request *http.Request
	page    page
	held    []grant
	tenant  admission.Tenant // with whom it shares what is scarce
	id      string           // Idempotency-Key, for a single event
}

// outcome is what became of an event: in Kafka if err is nil. id is empty for what is no event, and where it is not repeated.
type outcome struct {
	id  string
	err error
}

// read makes events of what a request holds, each by itself.
func read(parts [][]byte, most int64, way func(raw []byte) (draft, error)) ([]draft, []outcome) {
	drafts, outcomes := make([]draft, len(parts)), make([]outcome, len(parts))
	for i, part := range parts {
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
		if int64(len(part)) > most {
			outcomes[i].err = tooLarge(most)
			continue
		}
		drafts[i], outcomes[i].err = way(part)
	}
	return drafts, outcomes
}

// accept completes, checks and publishes events, and says in outcomes what became of each. Those that have an error
// already are left alone. It calls wait before it waits for Kafka.
func (d *door) accept(topic string, from sender, drafts []draft, outcomes []outcome, wait func()) {
	d.judge(from, drafts, outcomes)
	var good []models.Event
	var places []int
	for i := range drafts {
		if outcomes[i].err == nil {
			good, places = append(good, drafts[i].event), append(places, i)
		}
	}
	if len(good) == 0 {
		return
	}
	sent := d.pub.Submit(from.tenant.Account(), topic, good)
	wait()
	// Not the request's context: see takeJSON.
	for i, err := range d.pub.Await(context.Background(), sent) {
		outcomes[places[i]].err = err
	}
}

// judge completes and checks events, and says in outcomes which are not taken, and the ids of the others.
func (d *door) judge(from sender, drafts []draft, outcomes []outcome) {
	now := time.Now()
	for i := range drafts {
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
		if outcomes[i].err != nil {
			continue
		}
		named := from.id != "" || drafts[i].event.EventID() != "" // by its sender
		if outcomes[i].err = d.prepare(from, drafts[i], now); outcomes[i].err == nil {
			if outcomes[i].id = drafts[i].event.EventID(); named {
				outcomes[i].id = repeated(outcomes[i].id)
			}
		}
	}
	d.limits.visitors.note(from.tenant.Grant, drafts, outcomes, now)
}

// repeated is an id as an answer has it: as it is, or empty if its sender made it longer than answers repeat. A part of it would
// be another id.
func repeated(id string) string {
	var room [models.MaxExcerpt + 2]byte // with quotes
	if len(models.AppendText(room[:0], id)) > len(room) {
		return ""
	}
	return id
}

// prepare makes an event ready for Kafka, or says why it is not taken. What a refused event was charged is not given
// back.
func (d *door) prepare(from sender, w draft, now time.Time) error {
	if err := d.complete(from, w, now); err != nil {
		return err
	}
	if err := w.event.Validate(); err != nil {
		return err
	}
	if c, ok := w.event.(*models.Click); ok && !d.cfg.Privacy.KeepUserAgent {
		c.UA = "" // it was judged, and nothing else asks for it
	}
	if err := d.timely(w.event, now); err != nil {
		return err
	}
	owner, err := d.access.owner(from.held, from.page, w.event)
	if err != nil {
		return err
	}
	return d.limits.event(owner, w.event, now)
}

// complete fills in what a sender may leave to the door: the version, the time, the id, and what its request tells about
// a click.
func (d *door) complete(from sender, w draft, now time.Time) error {
	switch e := w.event.(type) {
	case *models.Visit:
		return stamp(&e.V, &e.TS, &e.ID, from.id, now)
	case *models.Click:
		if err := stamp(&e.V, &e.TS, &e.ID, from.id, now); err != nil {
			return err
		}
		return d.fillClick(e, w.saysBot, from.request)
	}
	return fmt.Errorf("completing a %T: the door does not know it", w.event)
}

func stamp(version *int, ts *models.Millis, id *string, header string, now time.Time) error {
	if *version == 0 {
		*version = models.Version
	}
	if *ts == models.Absent {
		*ts = models.Millis(now.UnixMilli())
	}
	switch {
	case header != "" && *id != "" && *id != header:
		return &answer.Refusal{Reason: answer.ConflictingID, Detail: "Idempotency-Key and id differ"}
	case header != "":
		*id = header
	case *id == "":
		*id = newID(now)
	}
	return nil
}

// timely refuses events from the future, which a sender's wrong clock makes, and those that are older than anyone
// still asks about.
func (d *door) timely(event models.Event, now time.Time) error {
	var at time.Time
	switch e := event.(type) {
	case *models.Visit:
		at = e.TS.Time()
	case *models.Click:
		at = e.TS.Time()
	}
	limit := d.cfg.Time
	switch {
	case at.Sub(now) > limit.MaxAhead: // Sub saturates: year 9999 is far ahead, not long ago
		return &answer.Refusal{Reason: answer.TimestampInFuture, Detail: fmt.Sprintf("more than %v ahead of the door's clock", limit.MaxAhead)}
	case limit.MaxAge > 0 && now.Sub(at) > limit.MaxAge:
		return &answer.Refusal{Reason: answer.TooOld, Detail: fmt.Sprintf("older than %v", limit.MaxAge)}
	}
	return nil
}
