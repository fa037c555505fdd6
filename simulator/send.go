package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"footfall/simulator/mock"
)

// The most of a batch, below the producer's limits of 1,000 events and 1 MB.
const (
	batchEvents = 500
	batchBytes  = 500_000
)

// How long the producer may accept nothing before the sender gives up. The time is shorter before its first answer: the address may
// be wrong.
const (
	patience = time.Minute
	atFirst  = 10 * time.Second
)

// sender posts events to one producer, batch after batch.
type sender struct {
	client   http.Client
	producer string // its address
	key      string
	rate     float64
	began    time.Time
	sent     int
	answered bool // the producer has answered at least once
}

func newSender(o options) *sender {
	return &sender{client: http.Client{Timeout: 30 * time.Second}, producer: o.send, key: o.key, rate: o.rate, began: time.Now()}
}

// send posts all events. When it returns nil the producer has accepted each of them.
func send(ctx context.Context, o options, visits []mock.Visit, clicks []mock.Click, stderr io.Writer) error {
	s := newSender(o)
	bar := newProgress(stderr, "sent", len(visits)+len(clicks))
	err := s.all(ctx, "/v1/visits", len(visits), visitEvents(o.plan, visits), bar)
	if err == nil {
		err = s.all(ctx, "/v1/clicks", len(clicks), clickEvents(clicks), bar)
	}
	if s.answered {
		bar.end(s.sent)
	}
	if err != nil {
		return fmt.Errorf("sending to %s: %w", o.send, err)
	}
	return nil
}

// all sends n events. It retries those that the producer could not take until it has them all.
func (s *sender) all(ctx context.Context, path string, n int, next func(int) event, bar *progress) error {
	var batch []event
	size, last := 0, time.Now()
	for i := 0; i < n || len(batch) > 0; {
		for i < n && len(batch) < s.batchEvents() && size < batchBytes {
			e := next(i)
			batch, size, i = append(batch, e), size+len(e.line), i+1
		}
		if err := s.pace(ctx, len(batch)); err != nil {
			return err
		}
		left, wait, err := s.post(ctx, path, batch)
		if err != nil && !errors.Is(err, errLater) {
			return err
		}
		if len(left) < len(batch) {
			last = time.Now()
		}
		s.sent += len(batch) - len(left)
		if s.answered {
			bar.at(s.sent)
		}
		batch, size = left, 0
		for _, e := range left {
			size += len(e.line)
		}
		if len(left) == 0 {
			continue
		}
		if limit := s.patience(); time.Since(last) > limit {
			return fmt.Errorf("given up after %s: %w", limit, err)
		}
		if s.answered { // else the error is shown once, at the end
			bar.wait(s.sent, err)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

// batchEvents is the size of a batch: with a rate, the events of a tenth of a second.
func (s *sender) batchEvents() int {
	if s.rate == 0 {
		return batchEvents
	}
	return min(max(int(s.rate/10), 1), batchEvents)
}

func (s *sender) patience() time.Duration {
	if s.answered {
		return patience
	}
	return atFirst
}

// pace waits until n more events are due.
func (s *sender) pace(ctx context.Context, n int) error {
	if s.rate == 0 {
		return nil
	}
	due := s.began.Add(time.Duration(float64(s.sent+n) / s.rate * float64(time.Second)))
	return pause(ctx, time.Until(due))
}

// errLater marks errors after which a batch is sent again: the producer is busy or cannot be reached.
var errLater = errors.New("the producer does not take more now")

// unreached is an errLater of a producer that cannot be reached.
type unreached struct{ cause error }

func (e unreached) Error() string        { return "the producer cannot be reached: " + e.cause.Error() }
func (e unreached) Is(target error) bool { return target == errLater }
func (e unreached) Unwrap() error        { return e.cause }

// post sends a batch. With an errLater it returns the events to send again and how long to wait; any other error is final.
func (s *sender) post(ctx context.Context, path string, batch []event) (left []event, wait time.Duration, err error) {
	var body bytes.Buffer
	for _, e := range batch {
		body.Write(e.line)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.producer+path, &body)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := s.client.Do(req)
	if ctx.Err() != nil {
		return nil, 0, errors.New("stopped while sending")
	}
	if err != nil { // the producer may have the events: they are sent again under the same ids
		if cause := (*url.Error)(nil); errors.As(err, &cause) { // without the address, which send adds
			err = cause.Err
		}
		return batch, time.Second, unreached{err}
	}
	s.answered = true
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return batch, time.Second, fmt.Errorf("%w: %w", errLater, err)
	}
	return judge(resp, answer, batch)
}

// result is the producer's answer for one event, or for a whole request.
type result struct {
	Index         int
	Status        int
	Error, Detail string
}

// judge reads the producer's answer; its results are those of post.
func judge(resp *http.Response, body []byte, batch []event) (left []event, wait time.Duration, err error) {
	wait = time.Second
	if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		wait = time.Duration(min(max(after, 1), 30)) * time.Second
	}
	var said struct {
		result
		Results []result
	}
	unread := json.Unmarshal(body, &said)
	if later(resp.StatusCode) {
		return batch, wait, fmt.Errorf("%w: %d %s", errLater, resp.StatusCode, said.Error)
	}
	switch resp.StatusCode {
	case http.StatusAccepted, http.StatusMultiStatus:
	default:
		if unread != nil {
			return nil, 0, fmt.Errorf("the producer answered %s", resp.Status)
		}
		return nil, 0, fmt.Errorf("the producer answered %d %s %s", resp.StatusCode, said.Error, said.Detail)
	}
	if unread != nil || len(said.Results) != len(batch) {
		return nil, 0, fmt.Errorf("the answer %d has no result for each event: is this a producer of footfall?", resp.StatusCode)
	}
	for i, r := range said.Results {
		switch {
		case r.Status == http.StatusAccepted:
		case later(r.Status):
			left = append(left, batch[i])
			err = fmt.Errorf("%w: %d %s", errLater, r.Status, r.Error)
		default:
			return nil, 0, fmt.Errorf("event %s was refused: %d %s %s", batch[i].id, r.Status, r.Error, r.Detail)
		}
	}
	return left, wait, err
}

func later(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("stopped while sending")
	case <-time.After(d):
		return nil
	}
}
