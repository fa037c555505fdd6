package intake

import (
	"context"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/health"
	"footfall/producer/answer"
)

// openAdmin serves operators on http.admin_addr: metrics, readiness, liveness, and profiles if http.pprof. It has an address of its own because the public
// should neither read these nor use up its connections.
func (s *server) openAdmin(ctx context.Context, reg *prometheus.Registry) (stop func(), err error) {
	if s.cfg.HTTP.AdminAddr == "" {
		return func() {}, nil
	}
	web, err := health.Listen(ctx, "http.admin_addr", s.cfg.HTTP.AdminAddr, s.log)
	if err != nil {
		return nil, err
	}
	s.admin = web.Addr()
	answering, hangUp := context.WithCancel(context.WithoutCancel(ctx)) // ends last, after the last event is answered
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := web.Serve(answering, health.WithProfiles(s.cfg.HTTP.Pprof, s.adminRoutes(ctx, reg))); err != nil {
			s.log.Error("serving http.admin_addr failed; events are still taken", "error", err.Error())
		}
	}()
	return func() {
		hangUp()
		<-ended
	}, nil
}

// adminRoutes are all paths of the admin address. /readyz says no as soon as the producer begins to stop, so that load balancers
// send it no more requests.
func (s *server) adminRoutes(ctx context.Context, reg *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	route := func(at string, h http.Handler) {
		mux.Handle(at, s.observe(at, s.allowMethods([]string{http.MethodGet, http.MethodHead}, h)))
	}
	route("/healthz", http.HandlerFunc(alive))
	route("/readyz", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			answer.Refuse(w, &answer.Refusal{Reason: answer.Overloaded, Detail: "the producer is stopping"}, "")
			return
		}
		s.ready(w, r)
	}))
	route("/metrics", health.Metrics(reg))
	mux.Handle("/", s.observe("other", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "GET /metrics, /readyz or /healthz; events go to http.addr"}, "")
	})))
	return mux
}

// status is the body of the health answers.
type status struct {
	Status string `json:"status"`
}

// alive is /healthz: the process serves. An unavailable Kafka is no reason to restart it.
func alive(w http.ResponseWriter, _ *http.Request) { answer.JSON(w, http.StatusOK, status{"ok"}) }

// ready is /readyz: Kafka takes events right now. A producer that waits says what for.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	if !s.started.Load() {
		why := &answer.Refusal{Reason: answer.KafkaUnavailable, Detail: "not started yet"}
		if err := s.waiting.Check(); err != nil {
			why.Detail = err.Error()
		}
		if strings.Contains(why.Detail, storeOfLinks) {
			why.Reason = answer.StoreUnavailable
		}
		answer.Refuse(w, why, "")
		return
	}
	if err := s.kafka.Check(); err != nil {
		answer.Refuse(w, &answer.Refusal{Reason: answer.KafkaUnavailable, Detail: "the log has the error"}, "")
		return
	}
	answer.JSON(w, http.StatusOK, status{"ready"})
}
