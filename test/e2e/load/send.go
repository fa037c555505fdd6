package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"footfall/test/e2e/oracle"
)

// Client sends events to one producer over keep-alive connections.
type Client struct {
	// URL is the producer's, such as http://127.0.0.1:8080.
	URL string
	// Connections is how many requests are under way at once. Default: 64.
	Connections int
	// Pace, if not nil, is called before each event with its place in the order. It may wait.
	Pace func(place int)
	// Stop, if not nil, ends the sending when it is closed: requests under way are finished, no more are begun.
	Stop <-chan struct{}
	// Stubborn: a request without an answer is sent again under the same id, as if it had been answered 503.
	Stubborn bool
}

// Result is what became of the events.
type Result struct {
	Accepted []bool // by event: a request with it was answered 202
	Requests int64  // answered 202
	Busy     int64  // answered 503, or not at all, and sent again
	Broken   int64  // of those, the requests that were sent and never answered
	Took     time.Duration
}

// Send sends the events in the order given and returns when each place in it is answered 202, or at Stop. It retries a 503 under the
// same id until ctx ends. Any other answer is an error.
func (c *Client) Send(ctx context.Context, events []Event, order []int) (*Result, error) {
	connections := c.Connections
	if connections == 0 {
		connections = 64
	}
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	var (
		workers                sync.WaitGroup
		next                   atomic.Int64
		requests, busy, broken atomic.Int64
		accepted               = make([]atomic.Bool, len(events))
		begun                  = time.Now()
	)
	for range connections {
		workers.Go(func() {
			for ctx.Err() == nil {
				if c.stopped() {
					return
				}
				place := int(next.Add(1)) - 1
				if place >= len(order) {
					return
				}
				if c.Pace != nil {
					c.Pace(place)
				}
				refused, cut, err := c.insist(ctx, client, events[order[place]])
				busy.Add(refused)
				broken.Add(cut)
				if err != nil {
					stop(fmt.Errorf("sending event %s: %w", events[order[place]].ID(), err))
					return
				}
				accepted[order[place]].Store(true)
				requests.Add(1)
			}
		})
	}
	workers.Wait()

	r := &Result{Accepted: make([]bool, len(events)), Requests: requests.Load(), Busy: busy.Load(), Broken: broken.Load(), Took: time.Since(begun)}
	for i := range accepted {
		r.Accepted[i] = accepted[i].Load()
	}
	return r, context.Cause(ctx)
}

// insist sends one event until it is accepted. It returns how many requests were refused or got no answer, and how many of them were
// cut off.
func (c *Client) insist(ctx context.Context, client *http.Client, e Event) (refused, cut int64, err error) {
	path, contentType, body := e.Request()
	for {
		status, answer, err := ask(ctx, client, c.URL+path, contentType, body)
		switch {
		case err != nil && (!c.Stubborn || ctx.Err() != nil):
			return refused, cut, err
		case err != nil:
			refused++
			if !errors.Is(err, syscall.ECONNREFUSED) {
				cut++
			}
		case status == http.StatusAccepted:
			return refused, cut, nil
		case status == http.StatusServiceUnavailable:
			refused++
		default:
			return refused, cut, fmt.Errorf("%s answered %d %s: %s\n%s", path, status, http.StatusText(status), answer, body)
		}
		select {
		case <-ctx.Done():
			return refused, cut, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ask makes one request. It is an error if the answer is not complete.
func ask(ctx context.Context, client *http.Client, url, contentType string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, answer, nil
}

func (c *Client) stopped() bool {
	select {
	case <-c.Stop: // blocks if it is nil
		return true
	default:
		return false
	}
}

// Oracle counts the events that were accepted.
func (r *Result) Oracle(events []Event) *oracle.Oracle {
	o := oracle.New()
	r.Tell(o, events)
	return o
}

// Tell lets an oracle count the events that were accepted.
func (r *Result) Tell(o *oracle.Oracle, events []Event) {
	for i, e := range events {
		if r.Accepted[i] {
			e.Tell(o)
		}
	}
}
