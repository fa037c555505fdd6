package cql

import (
	"errors"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"footfall/internal/retry"
)

// MarkFinal marks an error that waiting for Cassandra cannot mend (retry.Final): it refuses the login, or a permission. Others stay as they are.
func MarkFinal(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "Unable to perform auth"): // the node cannot ask others for the role or its permissions: they may come back
		return err
	case RefusedAs(err, gocql.ErrCodeCredentials, gocql.ErrCodeUnauthorized),
		strings.Contains(text, "authentication required"), strings.Contains(text, "unexpected authenticator"): // the driver has no types for these
		return retry.Final(err)
	}
	return err
}

// RefusedAs tells whether Cassandra answered with one of these error codes.
func RefusedAs(err error, codes ...int) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && slices.Contains(codes, refused.Code())
}

// NoTable tells whether a statement failed as if there were no such table or keyspace. Other invalid statements have the same code.
func NoTable(err error) bool { return RefusedAs(err, gocql.ErrCodeInvalid) }

// Contended tells whether a lightweight transaction timed out, because of concurrent ones or a busy server. It may have been applied all the
// same.
func Contended(err error) bool {
	return RefusedAs(err, gocql.ErrCodeWriteTimeout, gocql.ErrCodeCASWriteUnknown)
}

// ReplicaMissing tells whether a read at ALL failed because a replica did not answer.
func ReplicaMissing(err error) bool {
	return errors.Is(err, gocql.ErrTimeoutNoResponse) ||
		RefusedAs(err, gocql.ErrCodeUnavailable, gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure)
}
