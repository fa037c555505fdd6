package intake

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"regexp"
	"strings"
)

// tlsConfig reads the door's certificate; nil, for plain HTTP, if there is none.
func tlsConfig(cert, key string) (*tls.Config, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, errors.New("http.tls needs both cert and key")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading http.tls.cert and http.tls.key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// address is an IP with a port, as net/http writes it.
var address = regexp.MustCompile(`\[?[0-9a-fA-F.:]*[.:][0-9a-fA-F.:]*(%[^\s\]]*)?\]?:[0-9]+`)

// serverLog is where net/http writes what it cannot answer. It names clients, who are nobody's business in a log; and
// failed handshakes are for debugging, since anyone can make any number of them.
func serverLog(to *slog.Logger) *log.Logger { return log.New(serverWriter{to}, "", 0) }

type serverWriter struct{ to *slog.Logger }

func (w serverWriter) Write(line []byte) (int, error) {
	text := address.ReplaceAllString(strings.TrimSpace(string(line)), "(a client)")
	if strings.Contains(text, "TLS handshake error") {
		w.to.Debug(text)
	} else {
		w.to.Warn(text)
	}
	return len(line), nil
}
