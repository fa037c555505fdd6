package intake

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/internal/await"
	"footfall/internal/fair"
	"footfall/internal/health"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/internal/listen"
	"footfall/producer/admission"
	"footfall/producer/enrich"
	"footfall/producer/links"
	"footfall/producer/publisher"
)

// readTimeout is how long a client may send a request. Senders are services nearby or scripts on pages; neither has a good reason to be slow.
const readTimeout = 15 * time.Second

// What has to end when the producer stops gets this much time more than kafka.timeout. The chart's grace for pods covers it.
const (
	requestGrace = time.Second
	clickGrace   = 2 * time.Second // queued clicks of redirects
)

// Run serves until ctx ends. It waits for the store of links and for Kafka, and makes sure that the topics exist
// (cfg.Kafka.CreateTopics: creates them). Then it listens on cfg.HTTP.Addr, and calls ready with the addresses that it got. On
// cfg.HTTP.AdminAddr it answers from the beginning: while it waits it lives, and is not ready. When ctx ends it stops accepting
// connections, answers the requests in progress, waits for events in flight to Kafka, and returns nil.
//
// Its metrics are registered with reg, and /metrics shows all of reg. open opens the store of short links; it may be nil unless
// cfg.Links.Enabled.
//
// It returns an error if the configuration is wrong (*configs.Wrong), if it cannot listen on an address, or if waiting cannot mend
// what keeps it from Kafka or the store (retry.IsFinal), such as a refused login. If Kafka becomes unavailable later it does not
// return: it answers 503 until Kafka is back.
func Run(ctx context.Context, cfg configs.Producer, open OpenLinks, reg *prometheus.Registry, log *slog.Logger, ready func(addr, admin string)) (err error) {
	defer func() {
		if ctx.Err() != nil { // asked to stop, perhaps while it waited
			err = nil
		}
	}()
	p, err := newParts(cfg)
	if err != nil {
		return err
	}
	idle := true
	defer func() {
		if idle { // else a request may still read the mapped file: the garbage collector closes it
			_ = p.enrich.Close() // it was only read from
		}
	}()
	small, large := admission.NewBodySlots(cfg.HTTP.BodyBytes, cfg.HTTP.MaxBody, cfg.HTTP.BatchBytes)
	sole := admission.NewSoleTenant()
	s := &server{
		cfg: cfg, visits: visits{p.plan}, metrics: newMetrics(reg, small, large), log: log, waiting: await.New(log),
		access: p.access, limits: admission.NewLimits(cfg.Limits), enrich: p.enrich,
		smallBodies: small, largeBodies: large, workers: admission.NewWorkerSlots(sole), sole: sole,
	}
	s.waiting.Register(reg)
	if risk := p.via.Risk(); risk != "" {
		log.Warn(risk)
	}
	if slices.ContainsFunc(cfg.HTTP.TrustedProxies, func(network string) bool { return strings.HasSuffix(network, "/0") }) {
		log.Warn("http.trusted_proxies trusts everybody: any client can choose its address, and has no limits; list the networks of your proxies only")
	}
	closeAdmin, err := s.openAdmin(ctx, reg)
	if err != nil {
		return err
	}
	defer closeAdmin() // last, so that operators can watch requests and links end
	store, err := s.awaitLinks(ctx, open)
	if err != nil {
		return err
	}
	if err := s.awaitKafka(ctx, p.via, reg); err != nil {
		return err
	}
	defer s.pub.Close()
	if cfg.Links.Enabled {
		if err := s.openLinks(store, reg); err != nil {
			return err
		}
		defer s.closeLinks() // before the publisher, which writes the last clicks
	}
	listener, err := listen.Open(ctx, "http.addr", cfg.HTTP.Addr, listen.Bounds{
		Most: cfg.HTTP.Connections, PerNetwork: cfg.HTTP.PerNetwork, Trusted: p.enrich.Trusts, Metrics: reg, Name: "footfall_producer",
	}, log)
	if err != nil {
		return err
	}
	s.started.Store(true)
	idle, err = s.serve(ctx, listener, p.secure, s.routes(), ready)
	return err
}

// OpenLinks opens the store of short links. Run calls it again if it fails with an error that waiting may mend.
type OpenLinks func(context.Context) (links.Store, error)

// Opened is for a store that is open already.
func Opened(store links.Store) OpenLinks {
	return func(context.Context) (links.Store, error) { return store, nil }
}

// storeOfLinks is what a producer with links waits for first.
const storeOfLinks = "the store of links"

// awaitLinks waits for the store of links. Without links it returns none.
func (s *server) awaitLinks(ctx context.Context, open OpenLinks) (store links.Store, err error) {
	if !s.cfg.Links.Enabled || open == nil {
		return nil, nil
	}
	err = s.waiting.For(ctx, storeOfLinks, func(ctx context.Context) (err error) {
		store, err = open(ctx)
		return err
	})
	return store, err
}

// awaitKafka waits for Kafka and the topics.
func (s *server) awaitKafka(ctx context.Context, via dial.Kafka, reg prometheus.Registerer) error {
	k := s.cfg.Kafka
	err := s.waiting.For(ctx, "Kafka and its topics", func(ctx context.Context) (err error) {
		if err := topics.Reach(ctx, via); err != nil { // it says so at once; the rest tries for half a minute
			return err
		}
		err = topics.EnsureNewest(ctx, via, []string{k.Topics.Clicks, k.Topics.Visits, k.Topics.Dead}, k.Partitions, k.ReplicationFactor, k.CreateTopics)
		if err != nil {
			return err
		}
		s.pub, err = publisher.Open(ctx, via, publisher.Options{
			Topics: []string{k.Topics.Clicks, k.Topics.Visits}, Timeout: k.Timeout, Slots: s.cfg.HTTP.MaxInFlight, Metrics: reg, Log: s.log,
			Grant: fair.NewShared(s.cfg.Limits.GrantPerSecond, s.cfg.Limits.GrantBurst),
		})
		return err
	})
	if err != nil {
		return err
	}
	s.kafka = &health.Probe{Log: s.log, Ask: func(ctx context.Context) error {
		return topics.Check(ctx, via, append(s.pub.Topics(), k.Topics.Dead))
	}}
	return nil
}

// server holds what the handlers share. It is safe for concurrent use.
type server struct {
	cfg     configs.Producer
	visits  visits
	pub     *publisher.Publisher
	metrics *metrics
	log     *slog.Logger
	waiting *await.Waiter
	started atomic.Bool   // it listens: pub and kafka are set
	kafka   *health.Probe // whether the topics can be written to
	access  *admission.Access
	limits  *admission.Limits
	enrich  *enrich.Enricher
	links   *links.Handler // nil unless links.enabled

	smallBodies *admission.Semaphore // for bodies larger than most events, and for decompressing
	largeBodies *admission.Semaphore // for bodies larger than one event may be
	workers     *admission.Semaphore // for long work on a processor: batches, and events as large as one
	sole        *admission.SoleTenant

	unnamedProxy sync.Once // logs once that http.trusted_proxies may lack a proxy

	admin   string    // the address that operators ask; empty: none
	closing time.Time // when it began to stop; all that has to end then shares the time from here
}

// serve answers requests until ctx ends. idle tells whether all requests were over when it returned.
func (s *server) serve(ctx context.Context, l net.Listener, secure *configs.KeyPair, routes http.Handler, ready func(addr, admin string)) (idle bool, err error) {
	addr := l.Addr().String()
	s.log.Info("listening", "addr", addr, "admin", s.admin)
	switch {
	case s.access.Open:
		s.log.Warn("anyone may write (access.open)")
	case s.access.Empty():
		s.log.Warn("nobody may write: set access.sites, or access.open to let anyone")
	}
	idle, err = listen.Server{
		Handler: routes, TLS: secure, Log: s.log, Posts: true,
		Read: readTimeout, Write: readTimeout + s.cfg.Kafka.Timeout + 10*time.Second, // of reading and Kafka
		// A request in progress ends when Kafka answers or kafka.timeout has passed. A client that still sends its body after that is
		// disconnected: it got no answer, so it sends again.
		Grace:    s.cfg.Kafka.Timeout + requestGrace,
		Started:  func() { ready(addr, s.admin) },
		Stopping: func() { s.closing = time.Now() },
	}.Serve(ctx, l)
	if err == nil {
		s.log.Info("stopped listening")
	}
	return idle, err
}
