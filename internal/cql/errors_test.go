package cql

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gocql/gocql"

	"footfall/internal/retry"
)

// answer is an error that a node answers with.
type answer struct {
	code int
	text string
}

func (a answer) Code() int       { return a.code }
func (a answer) Message() string { return a.text }
func (a answer) Error() string   { return a.text }

// A refused login or permission is not waited for. What a starting or busy cluster answers is, and so is a table that is not there.
func TestMarkFinal(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		if got := retry.IsFinal(MarkFinal(fmt.Errorf("reading: %w", err))); got != want {
			t.Errorf("%v: final is %t, want %t", err, got, want)
		}
	}
	f(answer{gocql.ErrCodeCredentials, "Provided username footfall and/or password are incorrect"}, true)
	f(answer{gocql.ErrCodeUnauthorized, "User footfall has no SELECT permission on <table footfall.settings> or any of its parents"}, true)
	f(errors.New(`authentication required (using "org.apache.cassandra.auth.PasswordAuthenticator")`), true)
	f(errors.New(`unexpected authenticator "com.example.Kerberos"`), true)

	f(answer{gocql.ErrCodeCredentials, "Unable to perform authentication: Cannot achieve consistency level LOCAL_ONE"}, false)
	f(answer{gocql.ErrCodeUnauthorized, "Unable to perform authorization of permissions: Operation timed out"}, false)
	f(answer{gocql.ErrCodeInvalid, "keyspace footfall does not exist"}, false)
	f(answer{gocql.ErrCodeUnavailable, "Cannot achieve consistency level LOCAL_QUORUM"}, false)
	f(answer{gocql.ErrCodeCASWriteUnknown, "CAS operation result is unknown"}, false)
	f(&gocql.RequestErrWriteTimeout{}, false)
	f(answer{gocql.ErrCodeBootstrapping, "bootstrapping"}, false)
	f(gocql.ErrNoConnections, false)
	f(gocql.ErrTimeoutNoResponse, false)
	if MarkFinal(nil) != nil {
		t.Error("nil is marked")
	}
}
