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

// keyPair reads the server's certificate. It is nil, for plain HTTP, if none is configured.
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

// encrypt adds TLS to a listener. It uses the certificate as it is in the files now, also when it was renewed.
func encrypt(l net.Listener, pair *configs.KeyPair, log *slog.Logger) net.Listener {
	pair.Failed = func(err error) {
		log.Error("http.tls.cert or http.tls.key changed and cannot be used; the previous certificate stays in use", "error", err.Error())
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Current(), nil },
	})
}

// address matches an IP with a port, as net/http writes it.
var address = regexp.MustCompile(`\[?[0-9a-fA-F.:]*[.:][0-9a-fA-F.:]*(%[^\s\]]*)?\]?:[0-9]+`)

// serverLog is the ErrorLog of net/http. It removes the addresses of clients, which do not belong into a log. Failed handshakes
// go to level debug, since anyone can cause any number of them.
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
