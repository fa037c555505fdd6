package intake

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"footfall/internal/fair"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
	"footfall/producer/enrich"
)

// sender is what is known of the sender of a request.
type sender struct {
	request *http.Request
	ip      netip.Addr
	page    admission.Page
	grants  []admission.Grant // of its write key; none if anyone may write
	tenant  admission.Tenant
	id      string // Idempotency-Key, for a single event
}

// admit decides, before the body is read, whether a sender may send now, and finds the grants of its key.
func (s *server) admit(r *http.Request) (sender, error) {
	ip, now := s.enrich.ClientIP(r), time.Now()
	from := sender{request: r, ip: ip, page: admission.PageOf(r), tenant: admission.Tenant{Network: fair.Client(ip)}}
	if err := s.limits.Client(ip, now); err != nil {
		return from, err
	}
	switch ids := r.Header.Values("Idempotency-Key"); {
	case len(ids) > 1:
		return from, &answer.Refusal{Reason: answer.RepeatedField, Detail: "Idempotency-Key"}
	case len(ids) == 1 && ids[0] == "": // the sender wants to retry safely, and could not
		return from, &models.Invalid{Reason: "bad_id", Detail: "Idempotency-Key is empty"}
	case len(ids) == 1:
		from.id = ids[0]
	}
	var err error
	if from.grants, err = s.access.Grants(r); len(from.grants) > 0 {
		from.tenant.Grant, from.tenant.Page = from.grants[0].Name, admission.OnPages(from.grants)
	}
	if err != nil {
		return from, err
	}
	s.sole.Note(from.tenant, now)
	if !from.tenant.Page {
		return from, nil
	}
	err = s.limits.PageClient(ip, now)
	s.suspectProxy(from, err != nil)
	return from, err
}

// suspectProxy warns once of a sender with a page's key that is beyond a limit of one client, and that may be a proxy.
func (s *server) suspectProxy(from sender, limited bool) {
	if limited && from.tenant.Page && from.request.Header.Get("X-Forwarded-For") != "" && !s.enrich.PeerTrusted(from.request) {
		s.unnamedProxy.Do(func() {
			s.log.Warn("a client that sends X-Forwarded-For is beyond its limits: if it is your proxy, list it in http.trusted_proxies, or all visitors behind it count as one client")
		})
	}
}

// receiveJSON takes one event as JSON, or a batch as an array or as NDJSON.
//
// Like the other handlers it does not stop when the client hangs up: a client that only closed its sending side still waits
// for the answer, and net/http cannot tell one from the other.
func (s *server) receiveJSON(topic string, parse func(raw []byte) (draft, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		from, err := s.admit(r)
		if err != nil {
			return err
		}
		slots := admission.Slots{Tenant: from.tenant}
		defer slots.ReleaseAll() // after the answer is written: an answer that its sender does not read takes memory, too
		raw, batch, err := s.readEvents(w, r, &slots)
		if err == nil && batch {
			err = s.chargeBatch(from, len(raw), &slots)
		}
		if err != nil {
			return err
		}
		drafts, outcomes := parseAll(raw, s.cfg.HTTP.MaxBody, parse)
		s.accept(topic, from, drafts, outcomes, func() { slots.Release(s.workers) })
		if batch {
			s.answerBatch(w, outcomes)
		} else {
			s.answerOne(w, outcomes[0])
		}
		return nil
	}
}

// chargeBatch checks a batch as a whole, takes a slot for its answer, and charges the client for its events.
func (s *server) chargeBatch(from sender, events int, slots *admission.Slots) error {
	switch {
	case events == 0:
		return &answer.Refusal{Reason: answer.EmptyBatch, Detail: "no event in the batch"}
	case from.id != "":
		return &answer.Refusal{Reason: answer.ConflictingID, Detail: "Idempotency-Key is for single events: give each event of a batch an id"}
	}
	if events > freeAnswer {
		answers := s.smallBodies
		if events > smallAnswer {
			answers = s.largeBodies
		}
		slots.Release(s.workers) // nobody holds a processor while waiting
		err := slots.Acquire(from.request.Context(), answers)
		if err == nil {
			err = slots.Acquire(from.request.Context(), s.workers)
		}
		if err != nil {
			return err
		}
	}
	return s.limits.Batch(from.ip, events-1, from.tenant.Page, time.Now()) // admit charged for the first
}

// receiveForm takes one visit as a form.
func (s *server) receiveForm(w http.ResponseWriter, r *http.Request) error {
	from, err := s.admit(r)
	if err != nil {
		return err
	}
	if enrich.Prefetch(r.Header) {
		s.answerPrefetch(w)
		return nil
	}
	if _, err := answer.MediaType(r.Header, formText, plainText); err != nil {
		return err
	}
	slots := admission.Slots{Tenant: from.tenant}
	defer slots.ReleaseAll()
	body, err := s.readBody(w, r, &slots, nil)
	if err == nil && len(body) > slowEvent {
		err = slots.Acquire(r.Context(), s.workers)
	}
	if err != nil {
		return err
	}
	visit, err := s.visits.parseForm(r.URL.RawQuery, body)
	s.fillSite(from, visit)
	one := []outcome{{err: err}}
	s.accept(s.cfg.Kafka.Topics.Visits, from, []draft{visit}, one, func() { slots.Release(s.workers) })
	s.answerOne(w, one[0])
	return nil
}

// gif is one transparent pixel: the smallest image that every mail program and browser shows.
const gif = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// receivePixel takes one event from the query of GET /pixel.gif, and answers with the image when Kafka has the event. Nobody may
// cache the image: a cached one is a visit that is not counted.
func (s *server) receivePixel(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	from, err := s.admit(r)
	if err != nil {
		return err
	}
	parsed, err := s.visits.parsePixel(r.URL.RawQuery)
	if _, visit := parsed.event.(*models.Visit); visit && enrich.Prefetch(r.Header) {
		s.answerPrefetch(w)
		return nil
	}
	s.fillSite(from, parsed)
	topic := s.cfg.Kafka.Topics.Visits
	if _, ok := parsed.event.(*models.Click); ok {
		topic = s.cfg.Kafka.Topics.Clicks
	}
	one := []outcome{{err: err}}
	s.accept(topic, from, []draft{parsed}, one, func() {})
	if one[0].err == nil {
		w.Header().Set("Content-Type", "image/gif")
		_, _ = w.Write([]byte(gif)) // if the client hung up there is nobody to tell
	} else {
		s.refuse(w, one[0].err, one[0].id)
	}
	return nil
}

// answerPrefetch answers 204 for a visit of a page that was only fetched in advance. Visits have no field that would count them
// apart, and the visit comes again when the page is shown. 202 and the image are for events that Kafka has.
func (s *server) answerPrefetch(w http.ResponseWriter) {
	s.metrics.filtered.WithLabelValues(prefetched).Inc()
	expectBodySoon(w)
	w.WriteHeader(http.StatusNoContent)
}

// answerOne answers for a single event.
func (s *server) answerOne(w http.ResponseWriter, o outcome) {
	if o.err != nil {
		s.refuse(w, o.err, o.id)
		return
	}
	text := append(make([]byte, 0, 64), '{')
	if o.id != "" {
		text = models.AppendText(append(text, `"id":`...), o.id)
	}
	if o.reduced && o.id != "" {
		text = append(text, ',')
	}
	if o.reduced {
		text = models.AppendText(append(text, `"reduced":`...), answer.TooManyNewKeys)
	}
	answer.Text(w, http.StatusAccepted, append(text, '}'))
}

// result is the outcome of one event in the answer to a batch. Its fields are those of a single event's answer.
type result struct {
	Index   int    `json:"index"`
	Status  int    `json:"status"`
	ID      string `json:"id,omitempty"`
	Error   string `json:"error,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Reduced string `json:"reduced,omitempty"`
}

// append writes a result as encoding/json would, but faster: a batch has a thousand.
func (r result) append(to []byte) []byte {
	to = strconv.AppendInt(append(to, `{"index":`...), int64(r.Index), 10)
	to = strconv.AppendInt(append(to, `,"status":`...), int64(r.Status), 10)
	if r.ID != "" {
		to = models.AppendText(append(to, `,"id":`...), r.ID)
	}
	if r.Error != "" {
		to = models.AppendText(append(to, `,"error":`...), r.Error)
	}
	if r.Detail != "" {
		to = models.AppendText(append(to, `,"detail":`...), r.Detail)
	}
	if r.Reduced != "" {
		to = models.AppendText(append(to, `,"reduced":`...), r.Reduced)
	}
	return append(to, '}')
}

// batchDetails is how many bytes of details the answer to a batch has. A sender that makes one mistake a thousand times needs
// the detail once; the reason is in every result.
const batchDetails = 16 << 10

// answerBatch writes one result for each event, in the order of the batch. The status is 202 if all events are in Kafka, else
// 207.
func (s *server) answerBatch(w http.ResponseWriter, outcomes []outcome) {
	status, wait, details := http.StatusAccepted, time.Duration(0), 0
	text := append(make([]byte, 0, 80*(len(outcomes)+1)), `{"results":[`...)
	for i, o := range outcomes {
		one := result{Index: i, Status: http.StatusAccepted, ID: o.id}
		if o.err != nil {
			status = http.StatusMultiStatus
			why := s.countRefusal(o.err)
			one.Status, one.Error = why.Status(), why.Reason
			if details += len(why.Detail); details <= batchDetails {
				one.Detail = why.Detail
			}
			wait = max(wait, why.RetryAfter())
		} else if o.reduced {
			one.Reduced = answer.TooManyNewKeys
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = one.append(text)
	}
	answer.SetRetryAfter(w.Header(), wait)
	answer.Text(w, status, append(text, ']', '}'))
}

// refuse answers with a refusal, and counts its reason.
func (s *server) refuse(w http.ResponseWriter, err error, id string) {
	expectBodySoon(w)
	answer.Refuse(w, s.countRefusal(err), id)
}

// expectBodySoon shortens the read deadline for an answer that may be given before the body was read. net/http reads the rest
// of the body first, so a client that sends none, even one without a key, would hold its connection for long.
func expectBodySoon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyGrace)) // httptest's writer has no deadlines
}

// countRefusal finds the refusal in an error, counts its reason, and logs errors that should not happen.
func (s *server) countRefusal(err error) *answer.Refusal {
	why := answer.Of(err)
	s.metrics.refused.WithLabelValues(why.Reason).Inc()
	if why.Reason == answer.Internal {
		s.log.Error("an event could not be taken", "error", err)
	}
	return why
}
