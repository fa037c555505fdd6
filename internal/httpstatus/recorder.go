// Package httpstatus remembers which status a handler answered with, for metrics and logs.
package httpstatus

import "net/http"

// Recorder is a ResponseWriter that remembers the status. It is for one request, and as safe for concurrent use as what it wraps.
type Recorder struct {
	http.ResponseWriter
	Status int // 0 until the answer has begun
}

// WriteHeader implements http.ResponseWriter. The first status counts.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(b []byte) (int, error) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
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
