package retry

import (
	"crypto/tls"
	"errors"
	"net"
)

// Final marks an error that neither waiting nor trying again can mend: somebody has to change something first. nil stays nil.
func Final(err error) error {
	if err == nil || IsFinal(err) {
		return err
	}
	return &final{err}
}

// IsFinal tells whether waiting cannot mend an error: it, or what it wraps, is marked by Final, has a method Final() that returns true, or is a
// TLS handshake that fails for good. All other errors may pass: servers start, networks heal, operators migrate.
func IsFinal(err error) bool {
	var f interface{ Final() bool }
	return errors.As(err, &f) && f.Final() || refusesTLS(err)
}

// refusesTLS tells whether we do not trust the server's certificate, the server does not trust ours, or it speaks no TLS.
func refusesTLS(err error) bool {
	var (
		untrusted *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
		alert     *net.OpError
	)
	return errors.As(err, &untrusted) || errors.As(err, &plain) || errors.As(err, &alert) && alert.Op == "remote error" // crypto/tls calls an alert so
}

type final struct{ cause error }

func (f *final) Error() string { return f.cause.Error() }
func (f *final) Unwrap() error { return f.cause }
func (f *final) Final() bool   { return true }
