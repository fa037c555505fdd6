package stack

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/gocql/gocql"
)

// Secure makes a server require certificates and logins of its clients. All files are PEM; keys are PKCS #8.
type Secure struct {
	// Port of Kafka's listener with TLS and login, beside the open one. Cassandra has one port only, which is secure then.
	Port int
	// CA is the authority that signed the certificates of servers and clients.
	CA string
	// Cert and Key are the server's.
	Cert, Key string
	// Username and Password of a client. Kafka accepts them with PLAIN; users of SCRAM are created over the open listener. The launcher uses them
	// with Cassandra. A new node has the user cassandra with the password cassandra only.
	Username, Password string
}

// pair is the key and the certificate in one file, as both servers need them.
func (s *Secure) pair() ([]byte, error) {
	key, err1 := os.ReadFile(s.Key)
	cert, err2 := os.ReadFile(s.Cert)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("reading the server's certificate: %w", err)
	}
	return append(key, cert...), nil
}

// Client is the TLS configuration of a client, which uses the server's own certificate.
func (s *Secure) Client() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	authority, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// login sets login and TLS of a client of Cassandra; a nil Secure sets neither.
func (s *Secure) login(cluster *gocql.ClusterConfig) error {
	if s == nil {
		return nil
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	cluster.SslOpts = &gocql.SslOptions{Config: client, EnableHostVerification: true}
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: s.Username, Password: s.Password}
	return nil
}
