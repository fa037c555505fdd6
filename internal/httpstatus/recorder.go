// Package httpstatus remembers which status a handler answered with, for metrics and logs, and how long its client may take to read.
package httpstatus

import (
	"cmp"
	"net/http"
	"time"
)

// How fast a client has to read: a connection whose client does not is closed.
const (
	grace   = 2 * time.Second // besides the time for the data
	minRate = 64 << 10        // bytes a second
)

// Recorder is a ResponseWriter that remembers the status. It is for one request, and as safe for concurrent use as what it wraps.
type Recorder struct {
	http.ResponseWriter
	Status int           // 0 until the answer has begun
	Grace  time.Duration // for reading each write, besides the time for its data. Default: two seconds
}

// WriteHeader implements http.ResponseWriter. The first status counts.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. The client has to read what was written until the next write, or until the answer ends.
func (r *Recorder) Write(b []byte) (int, error) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	until := time.Now().Add(cmp.Or(r.Grace, grace) + time.Duration(len(b))*time.Second/minRate)
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(until) // a recorder of a test has none
	return r.ResponseWriter.Write(b)
}

// Code is the status that the client gets: net/http sends 200 for a handler that sets none.
func (r *Recorder) Code() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

// Unwrap lets http.ResponseController reach the connection.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
