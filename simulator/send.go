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

// A batch for the door, below its limits of 1,000 events and 1 MB.
const (
	batchEvents = 500
	batchBytes  = 500_000
)

// How long a door may take nothing before the sending is given up: one that has never answered is perhaps none.
const (
	patience = time.Minute
	atFirst  = 10 * time.Second
)

// sender posts events to one door, batch after batch.
type sender struct {
	client   http.Client
	door     string
	key      string
	rate     float64
	began    time.Time
	sent     int
	answered bool // once at least, whatever it was
}

// send posts all events. When it returns nil the door has acknowledged each of them.
func send(ctx context.Context, o options, visits []mock.Visit, clicks []mock.Click, stderr io.Writer) error {
	s := &sender{client: http.Client{Timeout: 30 * time.Second}, door: o.send, key: o.key, rate: o.rate, began: time.Now()}
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

// all sends n events, and those that the door could not take again, until it has them.
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
		if s.answered { // else it is told once, at the end
			bar.wait(s.sent, err)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

// batchEvents is smaller where a rate is to be kept: a tenth of a second's events.
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

// errLater marks what may be sent again: the door is busy or cannot be reached.
var errLater = errors.New("the door does not take more now")

// unreached is an errLater with nobody there to ask.
type unreached struct{ cause error }

func (e unreached) Error() string        { return "the door cannot be reached: " + e.cause.Error() }
func (e unreached) Is(target error) bool { return target == errLater }
func (e unreached) Unwrap() error        { return e.cause }

// post sends a batch and returns what must be sent again and when, with an errLater; any other error is for good.
func (s *sender) post(ctx context.Context, path string, batch []event) (left []event, wait time.Duration, err error) {
	var body bytes.Buffer
	for _, e := range batch {
		body.Write(e.line)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.door+path, &body)
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
	if err != nil { // perhaps it has them all the same: the ids are the same again
		if cause := (*url.Error)(nil); errors.As(err, &cause) { // without the address, which is told already
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

// result is what a door says about one event, and about a request as a whole.
type result struct {
	Index         int
	Status        int
	Error, Detail string
}

// judge reads the door's answer.
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
			return nil, 0, fmt.Errorf("it answered %s", resp.Status)
		}
		return nil, 0, fmt.Errorf("it answered %d %s %s", resp.StatusCode, said.Error, said.Detail)
	}
	if unread != nil || len(said.Results) != len(batch) {
		return nil, 0, fmt.Errorf("it answered %d, but not as a door does, with a result for each event", resp.StatusCode)
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
