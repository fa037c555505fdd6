package cql

import (
	"errors"
	"slices"

	"github.com/gocql/gocql"
)

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
