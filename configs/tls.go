package configs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Client is the TLS of a client, or nil if it is not enabled. It reads the files that the configuration names, and its
// own certificate again when that is renewed. The name
// that a server's certificate must have is left to whoever dials. Errors are *Wrong.
func (c TLS) Client() (out *tls.Config, err error) {
	defer func() { err = MarkWrong(err) }()
	if !c.Enabled {
		if c.CA != "" || c.Cert != "" || c.Key != "" || c.Insecure {
			return nil, errors.New("ca, cert, key or insecure is set but enabled is not: nothing would be encrypted")
		}
		return nil, nil
	}
	out = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure} //nolint:gosec // asked for, and warned of
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("reading ca: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading ca: %s holds no certificate in PEM", c.CA)
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return nil, errors.New("cert and key belong together: set both or none")
	}
	if c.Cert != "" {
		pair, err := LoadKeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("reading cert and key: %w", err)
		}
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.Current(), nil }
	}
	return out, nil
}
