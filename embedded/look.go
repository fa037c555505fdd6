package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/embedded/sqlite"
	"footfall/reader/stats"
	"footfall/reader/web"
)

// addresses are where one process listens; empty: nowhere.
type addresses struct {
	producer, admin, reader string // those of producer and reader are URLs
	readKey                 bool   // whoever asks the reader needs one
}

// look is the reader: it answers questions from the files that the store writes, by connections of its own.
type look struct {
	listener net.Listener
	server   *web.Server
	pulse    *stats.Pulse
	counts   *sqlite.Stats
}

// readerParts is the reader's configuration: its own, but for what one process decides itself. Reading is open where only this machine can
// ask, and nobody has made keys. Errors are *configs.Wrong.
func readerParts(cfg configs.Embedded) (configs.Reader, error) {
	reader, err := configs.LoadReader("")
	if err != nil || cfg.HTTP.ReaderAddr == "" {
		return reader, err
	}
	reader.HTTP.Addr = cfg.HTTP.ReaderAddr
	reader.Access.Open = onLoopback(cfg.HTTP.ReaderAddr) && len(reader.Access.Readers) == 0
	_, err = web.ConfigOf(reader, nil, nil)
	return reader, err
}

func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// sendTo is where events are sent to, for commands that pages show.
type sendTo struct {
	key bool         // a write key is needed
	at  atomic.Value // a string: the producer's URL, once it listens
}

func (s *sendTo) url() string { return s.at.Load().(string) }

// openLook listens on http.reader_addr. It is nil if there is none. The store must be open, so that its tables are there.
func openLook(ctx context.Context, cfg configs.Reader, dir string, producer *sendTo, reg prometheus.Registerer, log *slog.Logger) (*look, error) {
	how, err := web.ConfigOf(cfg, reg, log)
	if err != nil {
		return nil, err
	}
	how.Producer, how.WriteKey = producer.url, producer.key
	if how.Access.Empty() {
		log.Warn("nobody may read at http.reader_addr: set FOOTFALL_ACCESS_READERS or FOOTFALL_ACCESS_SHARE_SECRETS, or a loopback address")
	}
	l := &look{}
	if l.counts, err = sqlite.OpenStats(ctx, dir); err != nil {
		return nil, err
	}
	l.pulse = stats.NewPulse(l.counts, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits, time.Now)
	how.Pulse = l.pulse.Last
	l.server = web.New(stats.New(l.counts, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits), how)
	if l.listener, err = l.server.Listen(ctx, "http.reader_addr", cfg.HTTP.Addr); err != nil {
		return nil, errors.Join(err, l.counts.Close())
	}
	return l, nil
}

// serve answers until ctx ends, and closes everything.
func (l *look) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { l.pulse.Run(ctx) })
	err := l.server.Serve(ctx, l.listener)
	cancel()
	watching.Wait() // before its store is closed
	return errors.Join(err, l.counts.Close())
}
