package intake

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/internal/fair"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/links"
)

// openLinks adds short links: creating and following them.
func (s *server) openLinks(store links.Store, reg prometheus.Registerer) error {
	if store == nil {
		return wrong(errors.New("links.enabled needs a store of links"))
	}
	o := linkOptions(s.cfg.Links)
	o.KeepUserAgent = s.cfg.Privacy.KeepUserAgent
	o.Store, o.Enrich, o.Log, o.Metrics = store, s.enrich, s.log, reg
	o.Allow, o.Begin, o.Judge, o.Panicked = s.mayCreate, s.linkPrefix, s.judgeClick, s.metrics.panics.Inc
	o.Publish = func(ctx context.Context, c *models.Click) error {
		return s.pub.Publish(ctx, admission.Tenant{}, s.cfg.Kafka.Topics.Clicks, []models.Event{c})[0]
	}
	handler, err := links.New(o)
	if err != nil {
		return wrong(err)
	}
	s.links = handler
	return nil
}

// linkOptions are the options that come from the configuration.
func linkOptions(cfg configs.Links) links.Options {
	return links.Options{Cache: cfg.Cache, NegativeTTL: cfg.NegativeTTL, Queue: cfg.Queue, BaseURL: cfg.BaseURL}
}

// closeLinks waits for queued clicks. They get as long as a request that Kafka does not answer, counted from when the server began
// to stop: they were being written all that time.
func (s *server) closeLinks() {
	if s.closing.IsZero() { // serving failed
		s.closing = time.Now()
	}
	ctx, cancel := context.WithDeadline(context.Background(), s.closing.Add(s.cfg.Kafka.Timeout+clickGrace))
	defer cancel()
	s.links.Close(ctx)
}

// createLink is POST /v1/links, for senders with a key that are within their limits.
func (s *server) createLink(w http.ResponseWriter, r *http.Request) error {
	from, err := s.admit(r)
	if err != nil {
		return err
	}
	slots := admission.Slots{Tenant: from.tenant}
	defer slots.ReleaseAll()
	if err := slots.Acquire(r.Context(), s.smallBodies); err != nil {
		return err
	}
	return s.links.Create(w, r)
}

// mayCreate says why a sender may not create a link: its key must allow that name, and the limits.
func (s *server) mayCreate(r *http.Request, short string) error {
	held, err := s.access.LinkGrants(r)
	if err != nil {
		return err
	}
	now := time.Now()
	link := &models.Click{ShortURL: short, TS: models.Millis(now.UnixMilli())}
	payer := admission.Sender{IP: s.enrich.ClientIP(r), Page: admission.OnPages(held)}
	if payer.Grant, err = s.access.Owner(held, admission.PageOf(r), link); err == nil {
		_, err = s.limits.Event(payer, link, now)
	}
	return err
}

// linkPrefix is how a name begins that is made up for a sender: as its key demands.
func (s *server) linkPrefix(r *http.Request) (string, error) {
	held, err := s.access.LinkGrants(r)
	if err != nil {
		return "", err
	}
	return s.access.Prefix(held, admission.PageOf(r), links.Beginning)
}

// judgeClick changes a redirect's click that is beyond the limits, and counts what it changed.
func (s *server) judgeClick(c *models.Click, ip netip.Addr) {
	for _, reason := range s.limits.Redirect(c, ip, time.Now()) {
		s.metrics.filtered.WithLabelValues(reason).Inc()
	}
}

// followLink is GET /{short_url}, for anyone within the limits.
func (s *server) followLink(w http.ResponseWriter, r *http.Request) error {
	if err := s.admitFollower(r); err != nil {
		return err
	}
	return s.links.Redirect(w, r)
}

func (s *server) admitFollower(r *http.Request) error {
	ip, now := s.enrich.ClientIP(r), time.Now()
	if err := s.limits.Client(ip, now); err != nil {
		return err
	}
	s.sole.Note(admission.Tenant{Network: fair.Client(ip)}, now)
	return nil
}
