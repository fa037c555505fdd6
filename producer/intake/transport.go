package intake

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"regexp"
	"strings"

	"footfall/configs"
)

// keyPair reads the door's certificate; nil, for plain HTTP, if there is none.
func keyPair(cert, key string) (*configs.KeyPair, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, errors.New("http.tls needs both cert and key")
	}
	pair, err := configs.LoadKeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading http.tls.cert and http.tls.key: %w", err)
	}
	return pair, nil
}

// encrypt makes a listener of TLS, with the certificate as its files have it.
func encrypt(l net.Listener, pair *configs.KeyPair, log *slog.Logger) net.Listener {
	pair.Failed = func(err error) {
		log.Error("http.tls.cert and http.tls.key changed and cannot be used: the certificate of before stays", "error", err.Error())
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Current(), nil },
	})
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
