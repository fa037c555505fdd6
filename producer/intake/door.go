// Package intake is the door: HTTP requests come in, events go out to Kafka. An event is answered with 202 only when
// Kafka has acknowledged it on all in-sync replicas; everything else is answered with a reason.
//
// take.go is the way of a request: access.go says who may write, limits.go and newkeys.go how much, body.go and batch.go
// read it, visits.go, clicks.go, track.go and pixel.go make events of it, event.go completes and checks them, publish.go
// writes them to Kafka, with lane.go, send.go and group.go. refusal.go is the one place that turns errors into answers.
package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/enrich"
	"footfall/producer/links"
	"footfall/producer/publisher"
)

// Time that a client may take. A sender is a service nearby or a script on a page; neither is slow for good reasons.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
)

// What privacy.ip can be.
const raw, truncated, hashed = "raw", "truncated", "hashed"

// never is privacy.rotate of a secret that stays; periods are the others.
const never = "never"

var periods = map[string]string{"monthly": models.Monthly, "daily": models.Daily}

// Run opens the door: it makes sure that the topics exist (cfg.Kafka.CreateTopics: creates them), listens on
// cfg.HTTP.Addr and cfg.HTTP.AdminAddr, calls ready with the addresses it got, and serves until ctx ends. Then it stops
// accepting, answers what is in flight, flushes to Kafka and returns nil. Its metrics are registered with reg, and /metrics
// shows all of reg. store
// keeps short links; it is used with cfg.Links.Enabled only and may be nil without.
//
// It returns an error if the configuration makes no sense (*configs.Wrong), if Kafka cannot be reached within half a minute or a topic is
// missing, or if the address cannot be listened on. Kafka going away later is no reason to return: the door answers 503
// until it is back.
func Run(ctx context.Context, cfg configs.Producer, store links.Store, reg *prometheus.Registry, log *slog.Logger, ready func(addr, admin string)) error {
	err := open(ctx, cfg, store, reg, log, ready)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // asked to stop, perhaps while still waiting for Kafka
	}
	return err
}

// Check tells what is wrong with the configuration of a door (*configs.Wrong), without asking any server. Run does it too:
// this is for who has something to open before.
func Check(cfg configs.Producer) error {
	p, err := newParts(cfg)
	if err != nil {
		return err
	}
	return p.enrich.Close()
}

// parts are what a door has from its configuration alone.
type parts struct {
	plan   *models.Plan
	access *access
	enrich *enrich.Enricher
	secure *configs.KeyPair // nil for plain HTTP
	via    dial.Kafka
}

func newParts(cfg configs.Producer) (p parts, err error) {
	if err := sensible(cfg); err != nil {
		return p, wrong(err)
	}
	if p.plan, err = models.NewPlan(cfg.Features, models.AllMetrics()); err != nil { // which metrics are kept is for the consumers to know
		return p, wrong(err)
	}
	if p.access, err = newAccess(cfg.Access); err != nil {
		return p, wrong(err)
	}
	if p.secure, err = keyPair(cfg.HTTP.TLS.Cert, cfg.HTTP.TLS.Key); err != nil {
		return p, wrong(err)
	}
	if p.via, err = dial.New(cfg.Kafka.Brokers, cfg.Kafka.TLS, cfg.Kafka.SASL); err != nil {
		return p, err
	}
	p.enrich, err = enrich.New(enrich.Options{
		TrustedProxies: cfg.HTTP.TrustedProxies, CountryHeader: cfg.Enrichment.CountryHeader, MaxMindFile: cfg.Enrichment.MaxmindFile,
		HashIP: cfg.Privacy.IP == hashed, HashKey: cfg.Privacy.Secret, Rotate: periods[cfg.Privacy.Rotate], TruncateIP: cfg.Privacy.IP == truncated,
		IPv6Prefix: cfg.Privacy.IPv6Prefix,
	})
	if err != nil {
		return p, wrong(err)
	}
	return p, nil
}

func open(ctx context.Context, cfg configs.Producer, store links.Store, reg *prometheus.Registry, log *slog.Logger, ready func(addr, admin string)) error {
	p, err := newParts(cfg)
	if err != nil {
		return err
	}
	idle := true
	defer func() {
		if idle { // else somebody may be looking into the file, which is memory: the garbage collector closes it
			_ = p.enrich.Close() // it was only read
		}
	}()
	err = topics.EnsureNewest(ctx, p.via, []string{cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits, cfg.Kafka.Topics.Dead}, cfg.Kafka.Partitions, cfg.Kafka.ReplicationFactor, cfg.Kafka.CreateTopics)
	if err != nil {
		return err
	}
	small, large := newRooms(cfg)
	m := newMetrics(reg, large)
	watchSmall(reg, small)
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
	defer func() { _ = listener.Close() }() // where it is not served from, or not any more
	listener = boundConns(listener, cfg.HTTP.Connections, cfg.HTTP.PerNetwork, p.enrich.Trusts, reg)
	if p.secure != nil {
		listener = encrypt(listener, p.secure, log)
	}
	d := &door{
		cfg: cfg, visits: visits{p.plan}, pub: pub, metrics: m, log: log, kafka: readiness{
			via: p.via, names: func() []string { return append(pub.Topics(), cfg.Kafka.Topics.Dead) }, log: log,
		},
		access: p.access, limits: newLimits(cfg.Limits), enrich: p.enrich, small: small, large: large, company: admission.NewSoleTenant(),
	}
	d.mill = newMill(d.company)
	closeAdmin, err := d.openAdmin(ctx, reg)
	if err != nil {
		return err
	}
	defer closeAdmin() // after the rest, so that operators can watch the door close
	if cfg.Links.Enabled {
		if err := d.openLinks(store, reg); err != nil {
			return err
		}
		defer d.closeLinks() // before the publisher, to which it gives the last clicks
	}
	idle, err = d.serve(ctx, listener, d.routes(), ready)
	return err
}

// wrong is an error of the configuration.
func wrong(err error) error {
	return configs.MarkWrong(fmt.Errorf("checking the configuration: %w", err))
}

// door holds what the handlers share. It is safe for concurrent use.
type door struct {
	cfg     configs.Producer
	visits  visits
	pub     *publisher.Publisher
	metrics *metrics
	log     *slog.Logger
	kafka   readiness
	access  *access
	limits  *limits
	enrich  *enrich.Enricher
	links   *links.Handler        // nil unless links.enabled
	small   *places               // one for each body that is larger than most events, and for what decompresses one
	large   *places               // one for each body that is larger than one event may be
	mill    *places               // one for each batch, or event as large as one, that is being worked at
	company *admission.SoleTenant // who else is there

	unnamedProxy sync.Once // warns of what may be one

	admin   string    // where operators ask; empty: nowhere
	closing time.Time // when it was told to; what then has to end shares the time from here
}

// serve tells whether all requests were over when it returned.
func (d *door) serve(ctx context.Context, l net.Listener, routes http.Handler, ready func(addr, admin string)) (idle bool, err error) {
	server := &http.Server{
		Handler:           routes,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + d.cfg.Kafka.Timeout + 10*time.Second, // counts from the header, so it covers all
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader - 4096, // net/http reads 4096 more than it is told
		ConnState:         follow,
		ErrorLog:          serverLog(d.log),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	addr := l.Addr().String()
	d.log.Info("the door is open", "addr", addr, "admin", d.admin)
	switch {
	case d.access.open:
		d.log.Warn("anyone may write (access.open)")
	case len(d.access.grants) == 0:
		d.log.Warn("nobody may write: set access.sites, or access.open to let anyone")
	}
	ready(addr, d.admin)

	select {
	case err := <-failed:
		return false, fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	// A request in flight ends when Kafka answers or times out. Who is still sending a body after that is cut off: it has
	// had no answer and will send again. The clicks in the queue have as long as all of that, and a moment more.
	d.closing = time.Now()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Kafka.Timeout+time.Second)
	defer cancel()
	idle = true
	if err := server.Shutdown(grace); err != nil {
		idle = false
		d.log.Warn("cutting off requests that did not end in time", "error", err)
		if err := server.Close(); err != nil {
			d.log.Warn("closing connections", "error", err)
		}
	}
	d.log.Info("the door is closed")
	return idle, nil
}

// sensible refuses what would make a door that never opens or never closes.
func sensible(cfg configs.Producer) error {
	switch {
	case len(cfg.Kafka.Brokers) == 0:
		return errors.New("kafka.brokers is empty")
	case cfg.Kafka.Topics.Clicks == "" || cfg.Kafka.Topics.Visits == "" || cfg.Kafka.Topics.Dead == "":
		return errors.New("kafka.topics: clicks, visits and dead need a name each")
	case cfg.Kafka.Topics.Clicks == cfg.Kafka.Topics.Visits:
		return errors.New("kafka.topics: clicks and visits cannot share a topic")
	case cfg.Kafka.Timeout <= 0:
		return errors.New("kafka.timeout must be more than 0")
	case cfg.HTTP.AdminAddr == cfg.HTTP.Addr && !strings.HasSuffix(cfg.HTTP.Addr, ":0"):
		return errors.New("http.admin_addr is http.addr: what operators ask needs an address of its own, which the public does not reach")
	case cfg.HTTP.MaxInFlight < 1:
		return errors.New("http.max_in_flight must be at least 1")
	case cfg.HTTP.MaxBody < 1:
		return errors.New("http.max_body must be at least 1")
	case cfg.HTTP.BatchEvents < 1 || cfg.HTTP.BatchBytes < 1:
		return errors.New("http.batch_events and http.batch_bytes must be at least 1")
	case cfg.HTTP.Connections < 1 || cfg.HTTP.PerNetwork < 0:
		return errors.New("http.connections must be at least 1, and http.connections_per_network at least 0: 0 is no limit")
	case cfg.HTTP.BodyBytes < 3*max(cfg.HTTP.MaxBody, cfg.HTTP.BatchBytes):
		return errors.New("http.body_bytes must be at least three times http.max_body and http.batch_bytes")
	case cfg.Time.MaxAhead < 0 || cfg.Time.MaxAge < 0:
		return errors.New("time.max_ahead and time.max_age must not be negative")
	case !rate(cfg.Limits.ClientPerSecond) || !rate(cfg.Limits.SitePerSecond) || !rate(cfg.Limits.PageClientPerSecond) ||
		cfg.Limits.NewKeysPerMinute < 0 || cfg.Limits.NewVisitorsPerMinute < 0 || cfg.Limits.NewReferrersPerMinute < 0:
		return errors.New("limits must be numbers from 0 on: 0 is no limit")
	case cfg.Privacy.IP != raw && cfg.Privacy.IP != truncated && cfg.Privacy.IP != hashed:
		return errors.New("privacy.ip must be raw, truncated or hashed")
	case cfg.Privacy.Rotate != never && (periods[cfg.Privacy.Rotate] == "" || cfg.Privacy.IP != hashed):
		return errors.New("privacy.rotate must be never, or with privacy.ip: hashed monthly or daily")
	case cfg.Privacy.IPv6Prefix < 1 || cfg.Privacy.IPv6Prefix > 128:
		return errors.New("privacy.ipv6_prefix must be from 1 to 128: how many bits of an IPv6 address make a visitor")
	case cfg.Links.Enabled:
		return linkOptions(cfg.Links).Sensible()
	}
	return nil
}

// rate tells whether a limit is a number that can be counted with: the environment may also say NaN.
func rate(perSecond float64) bool { return perSecond >= 0 && !math.IsInf(perSecond, 1) }
