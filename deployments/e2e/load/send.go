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
	"time"

	"footfall/deployments/e2e/oracle"
)

// Client sends events to one door over keep-alive connections.
type Client struct {
	// URL is the door's, such as http://127.0.0.1:8080.
	URL string
	// Connections is how many requests are under way at once. Default: 64.
	Connections int
	// Pace, if not nil, is called before each event with its place in the order: it may wait.
	Pace func(place int)
}

// Result is what became of the events.
type Result struct {
	Accepted []bool // by event: some request of it was answered 202
	Requests int64  // answered 202
	Busy     int64  // answered 503 and sent again
	Took     time.Duration
}

// Send sends the events in the order given and returns when each place in it is answered 202. A 503 is tried again
// under the same id until ctx ends. Any other answer is a mistake of the product (or of this client) and an error.
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
		workers        sync.WaitGroup
		next           atomic.Int64
		requests, busy atomic.Int64
		accepted       = make([]atomic.Bool, len(events))
		begun          = time.Now()
	)
	for range connections {
		workers.Go(func() {
			for ctx.Err() == nil {
				place := int(next.Add(1)) - 1
				if place >= len(order) {
					return
				}
				if c.Pace != nil {
					c.Pace(place)
				}
				refused, err := insist(ctx, client, c.URL, events[order[place]])
				busy.Add(refused)
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

	r := &Result{Accepted: make([]bool, len(events)), Requests: requests.Load(), Busy: busy.Load(), Took: time.Since(begun)}
	for i := range accepted {
		r.Accepted[i] = accepted[i].Load()
	}
	return r, context.Cause(ctx)
}

// insist sends one event until it is accepted, and counts how often it was refused for the time being.
func insist(ctx context.Context, client *http.Client, base string, e Event) (refused int64, err error) {
	path, contentType, body := e.Request()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
		if err != nil {
			return refused, err
		}
		req.Header.Set("Content-Type", contentType)
		resp, err := client.Do(req)
		if err != nil {
			return refused, err
		}
		answer, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return refused, err
		}
		switch resp.StatusCode {
		case http.StatusAccepted:
			return refused, nil
		case http.StatusServiceUnavailable:
			refused++
		default:
			return refused, fmt.Errorf("%s answered %s: %s\n%s", path, resp.Status, answer, body)
		}
		select {
		case <-ctx.Done():
			return refused, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Oracle counts the events that were accepted.
func (r *Result) Oracle(events []Event) *oracle.Oracle {
	o := oracle.New()
	for i, e := range events {
		if r.Accepted[i] {
			e.Tell(o)
		}
	}
	return o
}
