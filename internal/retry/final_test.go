package retry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
)

type refusal bool

func (r refusal) Error() string { return "refused" }
func (r refusal) Final() bool   { return bool(r) }

func TestFinal(t *testing.T) {
	cause := errors.New("the schema is too new")
	marked := fmt.Errorf("opening: %w", Final(cause))
	if !IsFinal(marked) || !errors.Is(marked, cause) || marked.Error() != "opening: the schema is too new" {
		t.Errorf("marked: %v, %t", marked, IsFinal(marked))
	}
	if again := Final(marked).Error(); again != marked.Error() || Final(nil) != nil {
		t.Errorf("marked twice: %s; nothing: %v", again, Final(nil))
	}
	f := func(err error, want bool) {
		t.Helper()
		if IsFinal(err) != want {
			t.Errorf("IsFinal(%v) = %t", err, !want)
		}
	}
	f(nil, false)
	f(Final(nil), false)
	f(cause, false)
	f(fmt.Errorf("counting: %w", refusal(true)), true)
	f(refusal(false), false)
	f(errors.Join(cause, refusal(true)), true)
}

// A server that speaks no TLS, or whose certificate we do not trust, is not waited for; one that hangs up is.
func TestTLSThatFailsForGood(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		if IsFinal(fmt.Errorf("connecting: %w", err)) != want {
			t.Errorf("IsFinal(%v) = %t", err, !want)
		}
	}
	f(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, true)
	f(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, true)
	f(&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, true)
	f(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false)
	f(&net.DNSError{Name: "kafka", IsNotFound: true}, false)
	f(io.EOF, false)
	f(context.DeadlineExceeded, false)
}
