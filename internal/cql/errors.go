package cql

import (
	"errors"

	"github.com/gocql/gocql"
)

// NoTable tells that there is no such table or keyspace.
func NoTable(err error) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid
}

// Contended tells that a lightweight transaction was not decided in time, because others wanted the same or the server was
// busy. It may have taken place all the same.
func Contended(err error) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && (refused.Code() == gocql.ErrCodeWriteTimeout || refused.Code() == gocql.ErrCodeCASWriteUnknown)
}

// ReplicaMissing tells that a read at ALL failed for want of a replica.
func ReplicaMissing(err error) bool {
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		return errors.Is(err, gocql.ErrTimeoutNoResponse)
	}
	switch refused.Code() {
	case gocql.ErrCodeUnavailable, gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure:
		return true
	}
	return false
}
