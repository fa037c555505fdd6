package intake

import (
	"net/http"
	"slices"
	"time"

	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
	"footfall/producer/enrich"
)

// admit looks at a request before its body is read: whether its sender may send now, and by which key.
func (d *door) admit(r *http.Request) (sender, error) {
	ip, now := d.enrich.ClientIP(r), time.Now()
	from := sender{request: r, page: pageOf(r), tenant: admission.Tenant{Network: admission.NetworkOf(ip)}}
	if err := d.limits.client(ip, now); err != nil {
		return from, err
	}
	switch ids := r.Header.Values("Idempotency-Key"); {
	case len(ids) > 1:
		return from, &answer.Refusal{Reason: answer.RepeatedField, Detail: "Idempotency-Key"}
	case len(ids) == 1 && ids[0] == "": // a sender that means to be safe and is not
		return from, &models.Invalid{Reason: "bad_id", Detail: "Idempotency-Key is empty"}
	case len(ids) == 1:
		from.id = ids[0]
	}
	var err error
	if from.held, err = d.access.holds(r); len(from.held) > 0 {
		from.tenant.Grant = from.held[0].name
	}
	if err != nil {
		return from, err
	}
	d.company.Note(from.tenant, now)
	if !from.hasPageKey() {
		return from, nil
	}
	err = d.limits.page(ip, now)
	if err != nil && r.Header.Get("X-Forwarded-For") != "" && !d.enrich.PeerTrusted(r) {
		d.unnamedProxy.Do(func() {
			d.log.Warn("limited a client that says it forwards others: if it is your proxy, name it in http.trusted_proxies; else all its visitors are one client")
		})
	}
	return from, err
}

// hasPageKey tells whether the sender's key is part of pages, and so known to all who can read them.
func (s *sender) hasPageKey() bool {
	return slices.ContainsFunc(s.held, func(g grant) bool { return len(g.origins) > 0 })
}

// takeJSON takes one event as JSON, or a batch as an array or as NDJSON.
//
// Like the other ways it does not stop when the client hangs up: a client that merely closed its sending side still waits
// for the answer, and net/http cannot tell the two apart.
func (d *door) takeJSON(topic string, way func(raw []byte) (draft, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := d.admit(r)
		if err != nil {
			d.refuse(w, err, "")
			return
		}
		in := room{client: from.tenant}
		defer in.leave() // when the answer is on its way: what its sender does not read is memory, too
		parts, batch, err := d.parts(w, r, &in)
		if err == nil && batch {
			err = d.chargeBatch(from, len(parts), &in)
		}
		if err != nil {
			d.refuse(w, err, "")
			return
		}
		drafts, outcomes := read(parts, d.cfg.HTTP.MaxBody, way)
		d.accept(topic, from, drafts, outcomes, func() { in.drop(d.mill) })
		if batch {
			d.answerBatch(w, outcomes)
		} else {
			d.answerOne(w, outcomes[0])
		}
	}
}

// parts reads a body and cuts it into events.
func (d *door) parts(w http.ResponseWriter, r *http.Request, in *room) (parts [][]byte, batch bool, err error) {
	media, err := mediaOf(r.Header, []string{jsonText, linesText})
	if err != nil {
		return nil, false, err
	}
	lines := media == linesText
	body, err := d.readBody(w, r, in, func(beginning []byte) bool { return lines || isArray(beginning) })
	if err == nil && (len(body) > smallBody && (lines || isArray(body)) || len(body) > oddBody) {
		err = in.take(r.Context(), d.mill)
	}
	switch {
	case err != nil:
	case lines:
		parts, err = splitLines(body, d.cfg.HTTP.BatchEvents)
	case isArray(body):
		parts, err = splitArray(body, d.cfg.HTTP.BatchEvents)
	default:
		return [][]byte{body}, false, nil
	}
	return parts, true, err
}

// chargeBatch looks at a batch as a whole, and makes room for its answer.
func (d *door) chargeBatch(from sender, events int, in *room) error {
	switch {
	case events == 0:
		return &answer.Refusal{Reason: answer.EmptyBatch, Detail: "no event in the batch"}
	case from.id != "":
		return &answer.Refusal{Reason: answer.ConflictingID, Detail: "Idempotency-Key is for single events: give each event of a batch an id"}
	}
	if events > freeAnswer {
		answers := d.small
		if events > smallAnswer {
			answers = d.large
		}
		in.drop(d.mill) // nobody waits in there
		err := in.take(from.request.Context(), answers)
		if err == nil {
			err = in.take(from.request.Context(), d.mill)
		}
		if err != nil {
			return err
		}
	}
	return d.limits.clientOwes(d.enrich.ClientIP(from.request), events-1, from.hasPageKey(), time.Now()) // admit charged for one
}

// takeForm takes one visit as a form.
func (d *door) takeForm(w http.ResponseWriter, r *http.Request) {
	from, err := d.admit(r)
	if err != nil {
		d.refuse(w, err, "")
		return
	}
	if enrich.Prefetch(r.Header) {
		d.unseen(w)
		return
	}
	if _, err := mediaOf(r.Header, []string{formText, plainText}); err != nil {
		d.refuse(w, err, "")
		return
	}
	in := room{client: from.tenant}
	defer in.leave()
	body, err := d.readBody(w, r, &in, nil)
	if err == nil && len(body) > oddBody {
		err = in.take(r.Context(), d.mill)
	}
	if err != nil {
		d.refuse(w, err, "")
		return
	}
	written, err := d.visits.track(r.URL.RawQuery, body)
	d.fillSite(from, written)
	one := []outcome{{err: err}}
	d.accept(d.cfg.Kafka.Topics.Visits, from, []draft{written}, one, func() { in.drop(d.mill) })
	d.answerOne(w, one[0])
}

// unseen answers for a visit of a page that was only fetched in advance. It has no bot field to be counted apart by, and it
// comes again when the page is shown. 202, and the picture, are for what Kafka has.
func (d *door) unseen(w http.ResponseWriter) {
	d.metrics.filtered.WithLabelValues(prefetched).Inc()
	hasten(w)
	w.WriteHeader(http.StatusNoContent)
}

// answerOne answers for a single event.
func (d *door) answerOne(w http.ResponseWriter, o outcome) {
	if o.err != nil {
		d.refuse(w, o.err, o.id)
		return
	}
	if o.id == "" {
		answer.Text(w, http.StatusAccepted, []byte(`{}`))
		return
	}
	answer.Text(w, http.StatusAccepted, append(models.AppendText(append(make([]byte, 0, 64), `{"id":`...), o.id), '}'))
}

// refuse answers, and counts the reason.
func (d *door) refuse(w http.ResponseWriter, err error, id string) {
	hasten(w)
	answer.Refuse(w, d.count(err), id)
}

// hasten is for an answer that may be given before the body was read. net/http waits for the rest of it first, so that who
// sends none would hold its connection for long, without a key even.
func hasten(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(largeGrace)) // a test's writer has none
}

// count finds the answer to an error, counts it, and logs what should not have happened.
func (d *door) count(err error) *answer.Refusal {
	why := answer.Of(err)
	d.metrics.refused.WithLabelValues(why.Reason).Inc()
	if why.Reason == answer.Internal {
		d.log.Error("an event could not be taken", "error", err)
	}
	return why
}
