package intake

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
	"footfall/producer/links"
)

// openLinks lets the door make short links and redirect them.
func (d *door) openLinks(store links.Store, reg prometheus.Registerer) error {
	if store == nil {
		return wrong(errors.New("links.enabled needs a store of links"))
	}
	o := linkOptions(d.cfg.Links)
	o.KeepUserAgent = d.cfg.Privacy.KeepUserAgent
	o.Store, o.Enrich, o.Log, o.Metrics = store, d.enrich, d.log, reg
	o.Allow, o.Begin, o.Refer, o.Panicked = d.mayLink, d.beginLink, d.mayRefer, d.metrics.panics.Inc
	o.Publish = func(ctx context.Context, c *models.Click) error {
		return d.pub.Publish(ctx, admission.Tenant{Grant: "redirects"}, d.cfg.Kafka.Topics.Clicks, []models.Event{c})[0]
	}
	o.Refused = func(reason string) { d.metrics.refused.WithLabelValues(reason).Inc() }
	handler, err := links.New(o)
	if err != nil {
		return wrong(err)
	}
	d.links = handler
	return nil
}

// linkOptions are those that the configuration has.
func linkOptions(cfg configs.Links) links.Options {
	return links.Options{Cache: cfg.Cache, NegativeTTL: cfg.NegativeTTL, Queue: cfg.Queue, BaseURL: cfg.BaseURL}
}

// closeLinks gives the clicks that are still queued as long as a request that Kafka does not answer, from when the door began
// to close: they were being written all the time.
func (d *door) closeLinks() {
	if d.closing.IsZero() { // it failed on its own
		d.closing = time.Now()
	}
	ctx, cancel := context.WithDeadline(context.Background(), d.closing.Add(d.cfg.Kafka.Timeout+2*time.Second))
	defer cancel()
	d.links.Close(ctx)
}

// makeLink is POST /v1/links, for senders that may send now and have a key.
func (d *door) makeLink(w http.ResponseWriter, r *http.Request) {
	from, err := d.admit(r)
	in := room{client: from.tenant}
	defer in.leave()
	if err == nil {
		err = in.take(r.Context(), d.small)
	}
	if err != nil {
		d.refuse(w, err, "")
		return
	}
	d.links.Create(w, r)
}

// mayLink decides whether a sender may make a link: by a key that makes links of that name, and not too many a minute.
func (d *door) mayLink(w http.ResponseWriter, r *http.Request, short string) bool {
	link := &models.Click{ShortURL: short, TS: models.Millis(time.Now().UnixMilli())}
	held, err := d.access.makers(r)
	if err == nil {
		var owner string
		if owner, err = d.access.owner(held, pageOf(r), link); err == nil {
			err = d.limits.event(owner, link, time.Now())
		}
	}
	if err != nil {
		d.refuse(w, err, "")
		return false
	}
	return true
}

// beginLink is what a name that is made up for a sender begins with: it has to be one of its key's.
func (d *door) beginLink(w http.ResponseWriter, r *http.Request) (string, bool) {
	held, err := d.access.makers(r)
	var beginning string
	if err == nil {
		beginning, err = d.access.beginning(held, pageOf(r))
	}
	if err != nil {
		d.refuse(w, err, "")
		return "", false
	}
	return beginning, true
}

// mayRefer decides whether a redirect's click keeps its referrer. Anyone can make referrers up without a key, and each is a
// row for ever.
func (d *door) mayRefer(c *models.Click) bool {
	if d.limits.keys.referrer(c, time.Now()) == nil {
		return true
	}
	d.metrics.filtered.WithLabelValues(answer.TooManyNewKeys).Inc()
	return false
}

// follow is GET /{short_url}, for anyone who does not come too often.
func (d *door) follow(w http.ResponseWriter, r *http.Request) {
	if err := d.admitFollower(r); err != nil {
		d.refuse(w, err, "")
		return
	}
	d.links.Redirect(w, r)
}

func (d *door) admitFollower(r *http.Request) error {
	ip, now := d.enrich.ClientIP(r), time.Now()
	if err := d.limits.client(ip, now); err != nil {
		return err
	}
	d.company.Note(admission.Tenant{Network: admission.NetworkOf(ip)}, now)
	return nil
}
