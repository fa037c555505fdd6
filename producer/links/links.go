// Package links creates and follows short links. Following one counts as a click, but the redirect never waits for Kafka: the
// click goes into a bounded queue, and workers write it to Kafka. Clicks that do not fit are dropped and counted.
//
// create.go creates links, redirect.go follows them with the help of cache.go, queue.go writes the clicks. names.go, target.go
// and host.go check what may be a link and where it may lead.
package links

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/fair"
	"footfall/models"
	"footfall/producer/enrich"
)

// Store keeps links. Implementations must be safe for concurrent use.
type Store interface {
	// Create stores a link unless one of that name exists. It returns whether it did, and otherwise the target of the existing
	// one. After an error the link may have been created.
	Create(ctx context.Context, short, long string, at time.Time) (existing string, created bool, err error)

	// Target returns the target of a link, and whether the link exists.
	Target(ctx context.Context, short string) (long string, found bool, err error)
}

// Publish writes a click to Kafka. It returns nil once Kafka has acknowledged it. After any error the click is retried under the
// same id, so that it counts once.
type Publish func(context.Context, *models.Click) error

// Options are what a Handler needs. All fields without a default must be set.
type Options struct {
	Store   Store
	Publish Publish
	Enrich  *enrich.Enricher
	Log     *slog.Logger
	Metrics prometheus.Registerer

	// Cache is how many links are cached in memory.
	Cache int
	// NegativeTTL is how long it is cached that a link does not exist.
	NegativeTTL time.Duration
	// Queue is how many clicks of one client may wait for Kafka; of several clients half as many more.
	Queue int
	// BaseURL is the beginning of all short links. Default: the address that the request was sent to.
	BaseURL string
	// KeepUserAgent puts the visitor's user agent into the click. Default: it is read, and dropped.
	KeepUserAgent bool

	// Allow says, before the link is stored, why the sender may not create it; nil if it may.
	Allow func(r *http.Request, short string) error
	// Begin is the prefix of names that are made up for the sender, or an error that says why it may have none.
	Begin func(*http.Request) (beginning string, err error)
	// Judge may change the click of a redirect by a client: take its referrer away, or make it a bot's.
	Judge func(*models.Click, netip.Addr)
	// Panicked is called after a panic of the store or of Publish was recovered and logged.
	Panicked func()
}

// Handler creates and follows links. Errors of its methods are answers (answer.Of). It is safe for concurrent use. Close it when no request is in progress any more.
type Handler struct {
	o     Options
	cache *cache
	queue *queue

	creating *fair.Places[netip.Prefix] // one for each request to the store
}

// Sensible returns an error for sizes and times that no Handler can work with.
func (o Options) Sensible() error {
	switch {
	case o.Cache < 1:
		return errors.New("links.cache must be at least 1")
	case o.Queue < 1:
		return errors.New("links.queue must be at least 1")
	case o.NegativeTTL <= 0:
		return errors.New("links.negative_ttl must be more than 0")
	}
	if o.BaseURL != "" {
		if err := checkTarget(o.BaseURL); err != nil {
			return errors.New("links.base_url must be a URL such as https://sho.rt: " + err.Error())
		}
	}
	return nil
}

// New starts the workers that write clicks.
func New(o Options) (*Handler, error) {
	if err := o.Sensible(); err != nil {
		return nil, err
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	return &Handler{o: o, cache: newCache(o), queue: newQueue(o), creating: fair.NewPlaces[netip.Prefix](mostCreating)}, nil
}

// survive turns a panic into an error. Defer it in goroutines of our own: net/http recovers panics of handlers only, and any
// other panic ends the process.
func (o *Options) survive(what string, err *error) {
	if p := recover(); p != nil {
		o.Panicked()
		o.Log.Error(what+" panicked", "panic", p, "stack", string(debug.Stack()))
		*err = errPanic
	}
}

var errPanic = errors.New("it panicked")

// Close writes the clicks that are still queued, until ctx ends. What is left then is dropped, counted and logged.
func (h *Handler) Close(ctx context.Context) { h.queue.close(ctx) }
