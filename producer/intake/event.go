package intake

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
	"footfall/producer/enrich"
)

// draft is an event as its sender wrote it.
type draft struct {
	event   models.Event
	saysBot bool // the click itself says whether it is a bot's
}

// outcome is what became of an event: in Kafka if err is nil. id is what the answer repeats; it is empty for what is no event,
// and for an id that is too long to be repeated.
type outcome struct {
	id      string
	reduced bool // it counts with less than was sent: see admission.Limits
	err     error
}

// parseAll parses the events of a request, each by itself.
func parseAll(raw [][]byte, most int64, parse func(raw []byte) (draft, error)) ([]draft, []outcome) {
	drafts, outcomes := make([]draft, len(raw)), make([]outcome, len(raw))
	for i, text := range raw {
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
		if int64(len(text)) > most {
			outcomes[i].err = answer.TooLarge(most)
			continue
		}
		drafts[i], outcomes[i].err = parse(text)
	}
	return drafts, outcomes
}

// parseClick parses a click as JSON, in the format of models/schema/click.v1.json. v, id, ts, ip, country and bot may be left
// out, the country may be in lower case, and the IP in any notation. What the producer finds in the user agent must be left out.
func parseClick(raw []byte) (draft, error) {
	c, saysBot, err := models.TakeClick(raw)
	if err != nil {
		return draft{}, err
	}
	for i, name := range c.Names() {
		if *name != "" {
			return draft{}, &models.Invalid{Reason: models.ReasonUnknownField, Detail: models.AgentFields[i].Name + " is found in ua: send that"}
		}
	}
	return draft{event: c, saysBot: saysBot}, nil
}

// accept completes, checks and publishes events, and stores the outcome of each. Drafts whose outcome has an error already are
// skipped. It calls beforeWait before it waits for Kafka.
func (s *server) accept(topic string, from sender, drafts []draft, outcomes []outcome, beforeWait func()) {
	events, index := s.judge(from, drafts, outcomes)
	if len(events) == 0 {
		return
	}
	delivery := s.pub.Submit(from.tenant, topic, events)
	beforeWait()
	// Not the request's context: see receiveJSON.
	for i, err := range s.pub.Await(context.Background(), delivery) {
		outcomes[index[i]].err = err
	}
}

// judge completes and checks events. It returns those that go to Kafka, with their index in drafts, and stores the ids of these
// and the errors of the others in outcomes.
func (s *server) judge(from sender, drafts []draft, outcomes []outcome) (events []models.Event, index []int) {
	now := time.Now()
	for i := range drafts {
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
		if outcomes[i].err != nil {
			continue
		}
		named := from.id != "" || drafts[i].event.EventID() != "" // by its sender
		if outcomes[i].reduced, outcomes[i].err = s.prepare(from, drafts[i], now); outcomes[i].err != nil {
			continue
		}
		if outcomes[i].id = drafts[i].event.EventID(); named {
			outcomes[i].id = repeatable(outcomes[i].id)
		}
		events, index = append(events, drafts[i].event), append(index, i)
	}
	return events, index
}

// repeatable is an id as answers have it: unchanged, or empty if it is longer than what answers repeat. A part of it would be
// another id.
func repeatable(id string) string {
	var room [models.MaxExcerpt + 2]byte // with quotes
	if len(models.AppendText(room[:0], id)) > len(room) {
		return ""
	}
	return id
}

// prepare makes an event ready for Kafka, or returns why it is refused. A refused event stays charged to the limits.
func (s *server) prepare(from sender, w draft, now time.Time) (reduced bool, err error) {
	if err := s.complete(from, w, now); err != nil {
		return false, err
	}
	if err := w.event.Validate(); err != nil {
		return false, err
	}
	if c, ok := w.event.(*models.Click); ok && !s.cfg.Privacy.KeepUserAgent {
		c.UA = "" // fillClick has judged it, and nothing else needs it
	}
	if err := s.checkTime(w.event, from.tenant.Page, now); err != nil {
		return false, err
	}
	owner, err := s.access.Owner(from.grants, from.page, w.event)
	if err != nil {
		return false, err
	}
	payer := admission.Sender{Grant: owner, IP: from.ip, Page: from.tenant.Page}
	reduced, err = s.limits.Event(payer, w.event, now)
	if reduced && err == nil {
		s.metrics.filtered.WithLabelValues(answer.TooManyNewKeys).Inc()
	}
	s.suspectProxy(from, reduced || err != nil)
	return reduced, err
}

// complete fills in what a sender may leave out: the version, the time, the id, and what the request shows about a click.
func (s *server) complete(from sender, w draft, now time.Time) error {
	switch e := w.event.(type) {
	case *models.Visit:
		return stamp(&e.V, &e.TS, &e.ID, from.id, now)
	case *models.Click:
		if err := stamp(&e.V, &e.TS, &e.ID, from.id, now); err != nil {
			return err
		}
		return s.fillClick(e, w.saysBot, from.request)
	}
	return fmt.Errorf("completing a %T: unknown type of event", w.event)
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

// checkTime refuses events from the future, which a sender's wrong clock makes, and those that are older than anyone
// still asks about, or than a page that was just looked at.
func (s *server) checkTime(event models.Event, page bool, now time.Time) error {
	at, limit := event.Time(), s.cfg.Time
	if page && limit.PageMaxAge > 0 && (limit.MaxAge == 0 || limit.PageMaxAge < limit.MaxAge) {
		limit.MaxAge = limit.PageMaxAge
	}
	switch {
	case at.Sub(now) > limit.MaxAhead: // Sub saturates: the year 9999 is far ahead, not long ago
		return &answer.Refusal{Reason: answer.TimestampInFuture, Detail: fmt.Sprintf("more than %v ahead of the server's clock", limit.MaxAhead)}
	case limit.MaxAge > 0 && now.Sub(at) > limit.MaxAge:
		return &answer.Refusal{Reason: answer.TooOld, Detail: fmt.Sprintf("older than %v", limit.MaxAge)}
	}
	return nil
}

// fillClick fills in what the sender of a click left out. Without an ip the sender is the visitor, and its request shows the
// rest. With an ip the sender reports somebody else's click, and its own address, country and user agent are not the
// visitor's.
func (s *server) fillClick(c *models.Click, saysBot bool, r *http.Request) error {
	visitor := r
	var ip netip.Addr
	if c.IP == "" {
		ip = s.enrich.ClientIP(r)
		if c.UA == "" {
			c.UA = enrich.UserAgent(r)
		}
	} else {
		visitor = nil
		var err error
		if ip, err = parseIP(c.IP); err != nil {
			return err
		}
	}
	c.IP = s.enrich.VisitorIP(ip, c.TS.Time())
	if len(c.Country) == 2 { // bytes: ToUpper turns some letters that are not ASCII into ASCII
		c.Country = strings.ToUpper(c.Country)
	}
	if c.Country == "" {
		if country := s.enrich.Country(ip, visitor); country != models.UnknownCountry { // an empty country is counted as unknown
			c.Country = country
		}
	}
	agent := s.enrich.Agent(c.UA)
	switch {
	case saysBot:
	case visitor == nil: // of whom nothing is known is no bot
		c.Bot = agent.Bot && c.UA != ""
	default:
		c.Bot = agent.Bot || enrich.Prefetch(visitor.Header)
	}
	agent.Fill(c)
	if len(c.Referrer) <= models.MaxReferrer { // else Validate refuses it
		c.Referrer = enrich.Referrer(c.Referrer)
	}
	return nil
}

// parseIP reads an address in any notation, but without a zone, which is the name of an interface on the sender's machine.
func parseIP(text string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return ip, &models.Invalid{Reason: "bad_ip", Detail: "want an IPv4 or IPv6 address, without a port"}
	case ip.Zone() != "":
		return ip, &models.Invalid{Reason: "bad_ip", Detail: "want an address without a zone"}
	}
	return ip.Unmap(), nil
}

// newID makes an id for an event without one: a UUID of version 7, which is the millisecond and 74 random bits.
func newID(now time.Time) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16)
	r := randomPool.Get().(*randomBytes)
	r.read(id[6:])
	randomPool.Put(r)
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// randomBytes asks the system for the bytes of many ids at a time. It is not safe for concurrent use.
type randomBytes struct {
	bytes [1024]byte
	left  int
}

var randomPool = sync.Pool{New: func() any { return &randomBytes{} }}

func (r *randomBytes) read(into []byte) {
	if r.left < len(into) {
		_, _ = rand.Read(r.bytes[:]) // never fails
		r.left = len(r.bytes)
	}
	r.left -= copy(into, r.bytes[r.left-len(into):r.left])
}
