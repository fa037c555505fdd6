package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"footfall/configs"
)

// How much time and memory a client may take before its request is read.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	bodyTimeout   = time.Second // of a body that no handler reads
)

// Server answers HTTP on a listener.
type Server struct {
	Handler  http.Handler
	Read     time.Duration    // for a request
	Posts    bool             // the handler reads the bodies of POST. Default: it reads none
	Write    time.Duration    // for a request and its answer; the handler may give more
	Grace    time.Duration    // for requests in progress when it stops
	Started  func()           // called once it answers. Default: nothing
	Stopping func()           // called when it begins to stop. Default: nothing
	TLS      *configs.KeyPair // nil: plain HTTP
	Log      *slog.Logger
}

// Serve answers until ctx ends, then for the grace those that are being answered; it closes the listener. It returns no error then, and whether
// all requests were over. It returns an error if it ended before.
func (s Server) Serve(ctx context.Context, l net.Listener) (idle bool, err error) {
	if s.TLS != nil {
		s.TLS.Failed = func(err error) {
			s.Log.Error("http.tls.cert or http.tls.key changed and cannot be used; the previous certificate stays in use", "error", err.Error())
		}
		l = tls.NewListener(l, &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.TLS.Current(), nil },
		})
	}
	web := &http.Server{
		Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: headerTimeout, ReadTimeout: s.Read, WriteTimeout: s.Write, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader - 4096, // net/http adds 4096
		ConnState:      trackIdle, ErrorLog: log.New(logWriter{s.Log}, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(l) }()
	if s.Started != nil {
		s.Started()
	}
	select {
	case err := <-failed:
		return false, fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	if s.Stopping != nil {
		s.Stopping()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
	defer cancel()
	if err := web.Shutdown(grace); err != nil {
		if s.Grace > 0 {
			s.Log.Warn("disconnecting clients whose requests did not end in time", "error", err.Error())
		}
		_ = web.Close() // nothing is left to be told
		return false, nil
	}
	return true, nil
}

// These values are shared by all answers. net/http does not change them, and whoever adds a value gets a copy.
var nosniff, onlyTLS = []string{"nosniff"}, []string{"max-age=31536000"}

// answer tells browsers not to guess content types, and, with TLS, to use only TLS for a year. It shortens the read deadline of a body that
// nobody reads: net/http reads it before it answers, so a client that sends none would hold its connection for as long as a request may take.
func (s Server) answer(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Content-Type-Options"] = nosniff
	if s.TLS != nil {
		w.Header()["Strict-Transport-Security"] = onlyTLS
	}
	if r.ContentLength != 0 && (r.Method != http.MethodPost || !s.Posts) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // a connection has deadlines
	}
	s.Handler.ServeHTTP(w, r)
}

// address matches an IP with a port, as net/http writes it.
var address = regexp.MustCompile(`\[?[0-9a-fA-F.:]*[.:][0-9a-fA-F.:]*(%[^\s\]]*)?\]?:[0-9]+`)

// logWriter takes what net/http complains about. It removes the addresses of clients, which do not belong into a log. Failed handshakes go to
// level debug, since anyone can cause any number of them.
type logWriter struct{ to *slog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	text := address.ReplaceAllString(strings.TrimSpace(string(line)), "(a client)")
	if strings.Contains(text, "TLS handshake error") {
		w.to.Debug(text)
	} else {
		w.to.Warn(text)
	}
	return len(line), nil
}
