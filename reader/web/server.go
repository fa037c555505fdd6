package web

import (
	"context"
	_ "embed" // the description is part of the binary
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/internal/fair"
	"footfall/internal/grant"
	"footfall/internal/httpstatus"
	"footfall/internal/listen"
	"footfall/models"
	"footfall/reader/access"
	"footfall/reader/export"
	"footfall/reader/page"
	"footfall/reader/params"
	"footfall/reader/stats"
)

// OpenAPI describes every route and every answer.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Stats is whom the server asks. *stats.Reader is one.
type Stats interface {
	page.Stats
	export.Source
	Links(ctx context.Context, day models.Millis, of []models.NameRange) (stats.Names, error)
	Sites(ctx context.Context, month models.Millis, of []models.NameRange) (stats.Names, error)
	Values(ctx context.Context, site, feature string, month models.Millis) (stats.Names, error)
}

// Config says how a Server answers; ConfigOf makes one. All fields are needed but those with a default.
type Config struct {
	Access        *access.Access
	MaxInFlight   int                   // questions at once
	Timeout       time.Duration         // of an answer, or of a piece of one that is streamed
	StreamTimeout time.Duration         // of one that is streamed
	Points        int                   // of a series with fill=zero
	Origins       []string              // of pages that may read; default: none
	Hosts         []string              // names that Host may have besides this machine's; default: any, but not on a loopback address
	TLS           *configs.KeyPair      // default: plain HTTP
	Pulse         func() stats.Minute   // how fast events are counted, for the pages; default: not known
	Producer      func() string         // where events are sent to, for commands on pages; default: http://127.0.0.1:8080
	WriteKey      bool                  // a key is needed for that; default: none
	Metrics       prometheus.Registerer // which must not have another server's
	Log           *slog.Logger
	Now           func() time.Time // default: time.Now
}

// Server answers questions. It is safe for concurrent use.
type Server struct {
	stats   Stats
	cfg     Config
	metrics *metrics
	// places are those of http.max_in_flight, shared by read keys and share links, or where everybody may read by addresses: clients that read slowly keep
	// theirs for as long as an answer is streamed, and must not keep everybody else out.
	places *fair.Places[string]
	pages  *page.Handler
	hosts  listen.Hosts
}

// New makes a Server.
func New(from Stats, cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{stats: from, cfg: cfg, metrics: newMetrics(cfg.Metrics), places: fair.NewPlaces[string](cfg.MaxInFlight), hosts: listen.HostsOf(nil, cfg.Hosts)}
	s.pages = s.newPages()
	return s
}

// clientGone is the status, in metrics, of a request whose client did not wait for the answer. No client sees it.
const clientGone = 499

// ServeHTTP answers one request. It panics with http.ErrAbortHandler if it has to break off an answer whose beginning is sent.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	setSecurityHeaders(w.Header())
	path, label := r.URL.EscapedPath(), "other"
	found, names := findRoute(path)
	switch {
	case found != nil:
		label = found.path
	case path == healthPath || path == openAPIPath:
		label = path
	case page.Handles(path):
		label = "page"
	}
	rec := &recorder{Recorder: httpstatus.Recorder{ResponseWriter: w}}
	defer func() {
		if p := recover(); p != nil {
			s.recovered(rec, r, label, p)
		}
		s.metrics.requests.WithLabelValues(label, strconv.Itoa(rec.Code())).Inc()
		s.metrics.seconds.WithLabelValues(label).Observe(time.Since(began).Seconds())
		if rec.cut {
			panic(http.ErrAbortHandler)
		}
	}()
	s.handle(rec, r, path, found, names)
}

func (s *Server) recovered(rec *recorder, r *http.Request, route string, p any) {
	s.panicked(route, p)
	if rec.cut = rec.Status != 0; !rec.cut {
		s.refuse(rec, r, &refusal{Reason: internal, Detail: "something is wrong with the reader: its log says what"})
	}
}

// panicked logs and counts a panic. It is called while the stack is there.
func (s *Server) panicked(route string, p any) {
	s.metrics.panics.Inc()
	s.cfg.Log.Error("a handler panicked", "route", route, "panic", p, "stack", string(debug.Stack()))
}

func (s *Server) handle(w *recorder, r *http.Request, path string, found *route, names map[string]string) {
	switch {
	case !s.hosts.Answers(r.Host):
		s.refuse(w, r, &refusal{Reason: wrongHost, Detail: "this reader answers as 127.0.0.1 or localhost, or by a name in http.hosts"})
		return
	case page.Handles(path):
		s.page(w, r)
		return
	case found == nil && path != healthPath && path != openAPIPath:
		s.refuse(w, r, &refusal{Reason: notFound, Detail: "GET " + openAPIPath + " has all paths; they are taken as they are, without a / at the end"})
		return
	case s.cors(w, r):
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", allowedMethods)
		s.refuse(w, r, &refusal{Reason: methodNotAllowed, Detail: "use " + allowedMethods})
		return
	case path == healthPath:
		writeText(w, "application/json", `{"status":"ok"}`+"\n")
		return
	case path == openAPIPath:
		writeText(w, "application/yaml; charset=utf-8", string(OpenAPI))
		return
	}
	q, f, err := s.understand(r, found, names)
	if err != nil {
		s.refuse(w, r, refusalOf(r.Context(), err))
		return
	}
	n := 1
	if found.ask == nil { // an export may take 50 MB
		n = max(1, s.cfg.MaxInFlight/8)
	}
	release, ok := s.take(w, r, n)
	if !ok {
		return
	}
	defer release()
	if found.ask == nil {
		s.export(w, r, found, q)
		return
	}
	s.answer(w, r, found, q, f)
}

func writeText(w http.ResponseWriter, mediaType, text string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = io.WriteString(w, text) // if the client hung up there is nobody to tell
}

// understand finds out who asks, what, and in which format. It reads nothing from the store. Who may not read is told nothing else.
func (s *Server) understand(r *http.Request, found *route, names map[string]string) (q question, f *format, err error) {
	q = question{name: names[found.about.field], feature: names["feature"], now: s.cfg.Now()}
	q.holder, err = s.cfg.Access.Of(grant.Bearer(r), r.URL.Query().Get("share"), q.now)
	if err != nil {
		return q, nil, err
	}
	if found.listed {
		if len(found.about.lists(q.holder)) == 0 {
			return q, nil, &access.Denied{Reason: access.WrongKey, Detail: "this key or share link is for no such list"}
		}
	} else {
		if err := params.CheckName(found.about.field, q.name, found.about.most); err != nil {
			return q, nil, err
		}
		if !found.about.may(q.holder, q.name) {
			return q, nil, &access.Denied{Reason: access.WrongKey, Detail: "this key or share link is not for this " + found.about.field}
		}
	}
	var features []string
	if found.filters {
		features = s.stats.Plan().Features()
	}
	if q.Parsed, err = params.Parse(r.URL.RawQuery, append([]string{"format", "share"}, found.params...), features); err != nil {
		return q, nil, err
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if found.ask == nil {
		q.export, err = chooseExport(q.get("format", string(export.CSV)), accept)
	} else {
		f, err = chooseFormat(q.Values["format"], accept, found.lists)
	}
	if _, named := names["feature"]; named && err == nil {
		err = s.knownFeature(q.feature)
	}
	if err == nil {
		err = q.read(found.params)
	}
	return q, f, err
}

// answer asks the store and writes. Everything ends when the client is gone, or when a piece takes longer than it may.
func (s *Server) answer(w *recorder, r *http.Request, found *route, q question, f *format) {
	ctx, alive, stop := s.inTime(r.Context())
	defer stop()
	a, err := found.ask(s, ctx, q)
	b := &body{w: w, r: r, f: f, a: a, timeout: s.cfg.Timeout, progress: alive}
	defer b.release()
	if err == nil {
		b.name = fileName(found, q, a, f.ending)
		err = b.write(ctx)
		s.metrics.rows.Add(float64(b.rows))
	}
	s.conclude(ctx, w, r, found, err, b.started, b.rows)
}

// inTime is a context that ends when http.timeout has passed since alive was called, or http.stream_timeout altogether. The caller stops it.
func (s *Server) inTime(parent context.Context) (ctx context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	last := time.Now().Add(s.cfg.StreamTimeout)
	timer := time.AfterFunc(s.cfg.Timeout, func() { cancel(errTimeout) })
	alive = func() { timer.Reset(min(s.cfg.Timeout, time.Until(last))) }
	return ctx, alive, func() { timer.Stop(); cancel(nil) }
}

// conclude does what is left to do after an answer, or after an error: started tells whether the client has a part of it.
func (s *Server) conclude(ctx context.Context, w *recorder, r *http.Request, found *route, err error, started bool, rows int) {
	switch {
	case err == nil || errors.Is(err, errHead):
	case r.Context().Err() != nil:
		w.Status = clientGone
		w.cut = started
	case started: // whoever has a part must see that it is one
		w.cut = true
		s.metrics.cut.Inc()
		s.cfg.Log.Warn("a streamed answer was broken off", "route", found.path, "rows", rows, "error", err.Error())
	default:
		s.refuse(w, r, refusalOf(ctx, err))
	}
}

// recorder also remembers whether an answer was broken off.
type recorder struct {
	httpstatus.Recorder
	cut bool
}
