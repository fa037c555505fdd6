package cql

import (
	"errors"
	"slices"

	"github.com/gocql/gocql"
)

// RefusedAs tells that Cassandra answered with one of these error codes.
func RefusedAs(err error, codes ...int) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && slices.Contains(codes, refused.Code())
}

// NoTable tells that there is no such table or keyspace.
func NoTable(err error) bool { return RefusedAs(err, gocql.ErrCodeInvalid) }

// Contended tells that a lightweight transaction was not decided in time, because others wanted the same or the server was
// busy. It may have taken place all the same.
func Contended(err error) bool {
	return RefusedAs(err, gocql.ErrCodeWriteTimeout, gocql.ErrCodeCASWriteUnknown)
}

// ReplicaMissing tells that a read at ALL failed for want of a replica.
func ReplicaMissing(err error) bool {
	return errors.Is(err, gocql.ErrTimeoutNoResponse) ||
		RefusedAs(err, gocql.ErrCodeUnavailable, gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure)
}
