package intake

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/health"
	"footfall/producer/answer"
)

// openAdmin answers operators on http.admin_addr, which is none of the public's business: how much is counted, what is refused
// and whether Kafka answers. The public cannot take its connections either.
func (d *door) openAdmin(ctx context.Context, reg *prometheus.Registry) (stop func(), err error) {
	if d.cfg.HTTP.AdminAddr == "" {
		return func() {}, nil
	}
	server, err := health.Listen(ctx, "http.admin_addr", d.cfg.HTTP.AdminAddr)
	if err != nil {
		return nil, err
	}
	d.admin, server.ErrorLog = server.Addr(), serverLog(d.log)
	answering, hangUp := context.WithCancel(context.WithoutCancel(ctx)) // until the last event is answered
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(answering, d.adminRoutes(ctx, reg)); err != nil {
			d.log.Error("operators get no answers any more", "error", err.Error()) // events are taken all the same
		}
	}()
	return func() {
		hangUp()
		<-ended
	}, nil
}

// adminRoutes is everything that operators can ask. A door that was told to stop is not ready: nobody should be sent to it.
func (d *door) adminRoutes(ctx context.Context, reg *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	route := func(at string, h http.Handler) {
		mux.Handle(at, d.observed(at, d.only([]string{http.MethodGet, http.MethodHead}, h)))
	}
	route("/healthz", http.HandlerFunc(alive))
	route("/readyz", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			answer.Refuse(w, &answer.Refusal{Reason: answer.Overloaded, Detail: "the door is closing"}, "")
			return
		}
		d.ready(w, r)
	}))
	route("/metrics", health.Metrics(reg))
	mux.Handle("/", d.observed("other", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "GET /metrics, /readyz or /healthz; events go to http.addr"}, "")
	})))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard(w, r)
		mux.ServeHTTP(w, r)
	})
}
