// Package links makes short links and redirects them. A redirect counts as a click, but never waits for it: the click goes
// into a bounded queue, which workers empty into Kafka. What does not fit is dropped and counted, never in silence.
//
// create.go makes links, redirect.go follows them through cache.go, queue.go takes the clicks; names.go, target.go and host.go
// say what may be a link and where it may lead.
package links

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/models"
	"footfall/producer/enrich"
)

// Store keeps links. Implementations are safe for concurrent use.
type Store interface {
	// Create stores a link unless there is one of that name. It returns whether it did, and else where the existing one
	// leads. After an error the link may have been created.
	Create(ctx context.Context, short, long string, at time.Time) (existing string, created bool, err error)

	// Target says where a link leads, and whether there is one.
	Target(ctx context.Context, short string) (long string, found bool, err error)
}

// Publish writes a click to Kafka. It returns nil once Kafka has acknowledged it; after any error the click is tried again
// under the same id, so that it counts once.
type Publish func(context.Context, *models.Click) error

// Options are what a Handler needs. All fields without a default must be set.
type Options struct {
	Store   Store
	Publish Publish
	Enrich  *enrich.Enricher
	Log     *slog.Logger
	Metrics prometheus.Registerer

	// Cache is how many links are remembered in memory.
	Cache int
	// NegativeTTL is how long a link that is not there is remembered as such.
	NegativeTTL time.Duration
	// Queue is how many clicks may wait for Kafka, and half as many again where they are of several clients.
	Queue int
	// BaseURL is what short links begin with. Default: what the request was sent to.
	BaseURL string
	// KeepUserAgent puts the visitor's user agent into the click. Default: it is judged and dropped.
	KeepUserAgent bool

	// Allow decides whether the sender may make the link, before it is stored. It returns false after having answered.
	// Default: everybody may.
	Allow func(w http.ResponseWriter, r *http.Request, short string) bool
	// Begin is what names that are made up for the sender begin with. It returns false after having answered: there is none.
	// Default: nothing.
	Begin func(w http.ResponseWriter, r *http.Request) (beginning string, ok bool)
	// Refer decides whether the click of a redirect keeps its referrer; without one it still counts. Default: it does.
	Refer func(*models.Click) bool
	// Panicked is told of panics of the store and of Publish, which are survived. Default: they are logged only.
	Panicked func()
	// Refused is told the reason of every request that Create refuses. Default: nobody is.
	Refused func(reason string)
}

// Handler has the two ways to use links. It is safe for concurrent use. Close it when no request is under way any more.
type Handler struct {
	o     Options
	cache *cache
	queue *queue

	creating chan struct{} // one for each request to the store
}

// Sensible refuses sizes and times that no Handler can work with.
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
	if o.Allow == nil {
		o.Allow = func(http.ResponseWriter, *http.Request, string) bool { return true }
	}
	if o.Begin == nil {
		o.Begin = func(http.ResponseWriter, *http.Request) (string, bool) { return "", true }
	}
	if o.Refer == nil {
		o.Refer = func(*models.Click) bool { return true }
	}
	if o.Panicked == nil {
		o.Panicked = func() {}
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	return &Handler{o: o, cache: newCache(o), queue: newQueue(o), creating: make(chan struct{}, mostCreating)}, nil
}

// survive makes an error of a panic. Call it deferred, where no server is above that would: a panic in a goroutine of our
// own ends the process.
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
