package intake

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/internal/health"
	"footfall/internal/kafka/topics"
	"footfall/producer/admission"
	"footfall/producer/enrich"
	"footfall/producer/links"
	"footfall/producer/publisher"
)

// How much time and memory a client may take. Senders are services nearby or scripts on pages; neither has a good reason to be
// slow.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
)

// Run serves until ctx ends. It makes sure that the topics exist (cfg.Kafka.CreateTopics: creates them), listens on
// cfg.HTTP.Addr and cfg.HTTP.AdminAddr, and calls ready with the addresses that it got. When ctx ends it stops accepting
// connections, answers the requests in progress, waits for events in flight to Kafka, and returns nil.
//
// Its metrics are registered with reg, and /metrics shows all of reg. store keeps short links; it may be nil unless
// cfg.Links.Enabled.
//
// It returns an error if the configuration is wrong (*configs.Wrong), if Kafka cannot be reached within half a minute, if a
// topic is missing, or if it cannot listen on an address. If Kafka becomes unavailable later it does not return: it answers
// 503 until Kafka is back.
func Run(ctx context.Context, cfg configs.Producer, store links.Store, reg *prometheus.Registry, log *slog.Logger, ready func(addr, admin string)) error {
	err := run(ctx, cfg, store, reg, log, ready)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // asked to stop, perhaps while it waited for Kafka
	}
	return err
}

func run(ctx context.Context, cfg configs.Producer, store links.Store, reg *prometheus.Registry, log *slog.Logger, ready func(addr, admin string)) error {
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
	err = topics.EnsureNewest(ctx, p.via, []string{cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits, cfg.Kafka.Topics.Dead}, cfg.Kafka.Partitions, cfg.Kafka.ReplicationFactor, cfg.Kafka.CreateTopics)
	if err != nil {
		return err
	}
	small, large := admission.NewBodySlots(cfg.HTTP.BodyBytes, cfg.HTTP.MaxBody, cfg.HTTP.BatchBytes)
	m := newMetrics(reg, small, large)
	pub, err := publisher.Open(ctx, p.via, publisher.Options{
		Topics: []string{cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits}, Timeout: cfg.Kafka.Timeout, Slots: cfg.HTTP.MaxInFlight, Metrics: reg, Log: log,
	})
	if err != nil {
		return err
	}
	defer pub.Close()

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.Addr)
	if err != nil {
		return fmt.Errorf("listening (http.addr): %w", err)
	}
	defer func() { _ = listener.Close() }() // on an error before serve, which closes it too
	listener = admission.LimitConns(listener, cfg.HTTP.Connections, cfg.HTTP.PerNetwork, p.enrich.Trusts, reg)
	if p.secure != nil {
		listener = encrypt(listener, p.secure, log)
	}
	sole := admission.NewSoleTenant()
	s := &server{
		cfg: cfg, visits: visits{p.plan}, pub: pub, metrics: m, log: log, kafka: health.Probe{
			Ask: func(ctx context.Context) error {
				return topics.Check(ctx, p.via, append(pub.Topics(), cfg.Kafka.Topics.Dead))
			}, Log: log,
		},
		access: p.access, limits: admission.NewLimits(cfg.Limits), enrich: p.enrich,
		smallBodies: small, largeBodies: large, workers: admission.NewWorkerSlots(sole), sole: sole,
	}
	closeAdmin, err := s.openAdmin(ctx, reg)
	if err != nil {
		return err
	}
	defer closeAdmin() // after requests and links have ended, so that operators can watch them end
	if cfg.Links.Enabled {
		if err := s.openLinks(store, reg); err != nil {
			return err
		}
		defer s.closeLinks() // before the publisher, which writes the last clicks
	}
	idle, err = s.serve(ctx, listener, s.routes(), ready)
	return err
}

// server holds what the handlers share. It is safe for concurrent use.
type server struct {
	cfg     configs.Producer
	visits  visits
	pub     *publisher.Publisher
	metrics *metrics
	log     *slog.Logger
	kafka   health.Probe // whether the topics can be written to
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
func (s *server) serve(ctx context.Context, l net.Listener, routes http.Handler, ready func(addr, admin string)) (idle bool, err error) {
	web := &http.Server{
		Handler:           routes,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + s.cfg.Kafka.Timeout + 10*time.Second, // it counts from the header, so it covers reading and Kafka
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader - 4096, // net/http adds 4096
		ConnState:         admission.TrackIdle,
		ErrorLog:          serverLog(s.log),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(l) }()
	addr := l.Addr().String()
	s.log.Info("listening", "addr", addr, "admin", s.admin)
	switch {
	case s.access.Open:
		s.log.Warn("anyone may write (access.open)")
	case s.access.Empty():
		s.log.Warn("nobody may write: set access.sites, or access.open to let anyone")
	}
	ready(addr, s.admin)

	select {
	case err := <-failed:
		return false, fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	// A request in progress ends when Kafka answers or kafka.timeout has passed. A client that still sends its body after that
	// is disconnected: it got no answer, so it sends again. Queued clicks of redirects have as long as that and one second more.
	s.closing = time.Now()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Kafka.Timeout+time.Second)
	defer cancel()
	idle = true
	if err := web.Shutdown(grace); err != nil {
		idle = false
		s.log.Warn("disconnecting clients whose requests did not end in time", "error", err)
		if err := web.Close(); err != nil {
			s.log.Warn("closing connections", "error", err)
		}
	}
	s.log.Info("stopped listening")
	return idle, nil
}
