package web

import (
	"context"
	"crypto/tls"
	"errors"
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
	shutdownGrace = 5 * time.Second
)

// KeyPair reads the certificate of http.tls. It is nil, for plain HTTP, if none is configured. Errors are *configs.Wrong.
func KeyPair(cert, key string) (*configs.KeyPair, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, configs.MarkWrong(errors.New("http.tls needs both cert and key"))
	}
	pair, err := configs.LoadKeyPair(cert, key)
	if err != nil {
		return nil, configs.MarkWrong(fmt.Errorf("reading http.tls.cert and http.tls.key: %w", err))
	}
	return pair, nil
}

// Serve answers on a listener until ctx ends, then for a few seconds those that are being answered; it closes the listener. pair is nil
// for plain HTTP. It returns nil then, and an error if it ended before.
func (s *Server) Serve(ctx context.Context, l net.Listener, pair *configs.KeyPair) error {
	if pair != nil {
		pair.Failed = func(err error) {
			s.cfg.Log.Error("http.tls.cert or http.tls.key changed and cannot be used; the previous certificate stays in use", "error", err.Error())
		}
		l = tls.NewListener(l, &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Current(), nil },
		})
	}
	web := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, IdleTimeout: idleTimeout,
		WriteTimeout:   s.cfg.Timeout + headerTimeout, // streamed answers get more, piece by piece
		MaxHeaderBytes: maxHeader - 4096,              // net/http adds 4096
		ErrorLog:       log.New(logWriter{s.cfg.Log}, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := web.Shutdown(grace); err != nil {
		s.cfg.Log.Warn("disconnecting clients whose answers did not end in time", "error", err.Error())
		_ = web.Close() // nothing is left to be told
	}
	return nil
}

// address matches an IP with a port, as net/http writes it.
var address = regexp.MustCompile(`\[?[0-9a-fA-F.:]*[.:][0-9a-fA-F.:]*(%[^\s\]]*)?\]?:[0-9]+`)

// logWriter takes what net/http complains about, without the addresses of clients. Anyone can cause any number of these.
type logWriter struct{ to *slog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	w.to.Debug(address.ReplaceAllString(strings.TrimSpace(string(line)), "(a client)"))
	return len(line), nil
}
