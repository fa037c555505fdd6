package web

import (
	"context"
	"net"
	"time"

	"footfall/internal/listen"
)

// How many connections there are at the most, and of one client. Many may be behind one address, also behind a proxy's: only
// http.max_in_flight of them are answered at once.
const connections, perNetwork = 1024, 256

const (
	readTimeout   = 5 * time.Second
	shutdownGrace = 5 * time.Second
)

// Listen listens on addr; port 0 takes any free one. key is the configuration key of addr, for errors. Serve closes the listener.
func (s *Server) Listen(ctx context.Context, key, addr string) (net.Listener, error) {
	return listen.Open(ctx, key, addr, listen.Bounds{Most: connections, PerNetwork: perNetwork, Metrics: s.cfg.Metrics, Name: "footfall_reader"}, s.cfg.Log)
}

// Serve answers on a listener until ctx ends, then for a few seconds those that are being answered; it closes the listener. It returns nil
// then, and an error if it ended before.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.hosts = listen.HostsOf(l.Addr(), s.cfg.Hosts)
	_, err := listen.Server{
		Handler: s, TLS: s.cfg.TLS, Log: s.cfg.Log, Grace: shutdownGrace,
		Read: readTimeout, Write: readTimeout + s.cfg.Timeout, // streamed answers get more, piece by piece
	}.Serve(ctx, l)
	return err
}
