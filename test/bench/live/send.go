package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"footfall/test/bench/workload"
)

// sender sends moments when they are due, however long the answers to those before take (an open loop). It shares the processors with what
// it measures, so it does as little as it can.
type sender struct {
	address, path, kind string // kind: the bodies' content type
	each                int    // events of a request
	moments             []workload.Moment
	body                func(to []byte, m workload.Moment) []byte
	begin               time.Time
	closed              bool // a closed loop: the time of an answer counts from when its request was sent

	next   atomic.Int64 // request
	took   []time.Duration
	failed sync.Map // why, to how often (*atomic.Int64)
}

// What became of a request that has no time.
const (
	unsent  = 0
	unknown = -1 // an answer other than 202, or none: its events may be in Kafka
)

func newSender(f Form, address string, traffic workload.Live, moments []workload.Moment) *sender {
	s := &sender{address: address, path: "/v1/visits", kind: "application/json", each: f.each, moments: moments, body: traffic.Body}
	if f.clicks {
		s.path = "/v1/clicks"
	}
	if f.each > 1 {
		s.kind = "application/x-ndjson"
	}
	s.took = make([]time.Duration, (len(moments)+f.each-1)/f.each)
	return s
}

// run sends everything, or what is due until ctx ends.
func (s *sender) run(ctx context.Context, connections int) {
	var group sync.WaitGroup
	for range connections {
		group.Go(func() { s.connection(ctx) })
	}
	group.Wait()
}

func (s *sender) connection(ctx context.Context) {
	var conn net.Conn
	var answers *bufio.Reader
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	var request, body []byte
	for {
		i := int(s.next.Add(1)) - 1
		if i >= len(s.took) || !sleepUntil(ctx, s.begin.Add(s.due(i))) {
			return
		}
		body = body[:0]
		for _, m := range s.of(i) {
			body = append(s.body(body, m), '\n')
		}
		request = fmt.Appendf(request[:0], "POST %s HTTP/1.1\r\nHost: producer\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", s.path, s.kind, len(body))
		request = append(request, body...)
		since := s.begin.Add(s.due(i))
		if s.closed {
			since = time.Now()
		}
		err := error(nil)
		if conn == nil {
			if conn, err = net.Dial("tcp", s.address); err == nil {
				answers = bufio.NewReader(conn)
			}
		}
		if err == nil {
			err = exchange(conn, answers, request)
		}
		if err == nil {
			s.took[i] = max(1, time.Since(since))
			continue
		}
		s.took[i] = unknown
		n, _ := s.failed.LoadOrStore(err.Error(), new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		if !errors.As(err, new(refused)) && conn != nil {
			_ = conn.Close()
			conn = nil
		}
	}
}

// of are the moments of a request.
func (s *sender) of(i int) []workload.Moment {
	return s.moments[i*s.each : min((i+1)*s.each, len(s.moments))]
}

// due is when a request is: when its last event happens.
func (s *sender) due(i int) time.Duration {
	of := s.of(i)
	return of[len(of)-1].Due
}

func sleepUntil(ctx context.Context, at time.Time) bool {
	for left := time.Until(at); left > 0 && ctx.Err() == nil; left = time.Until(at) {
		time.Sleep(min(left, time.Second))
	}
	return ctx.Err() == nil
}

// refused is an answer other than 202.
type refused struct{ status int }

func (r refused) Error() string { return fmt.Sprintf("the producer answered %d", r.status) }

// exchange sends a request and reads its answer.
func exchange(conn net.Conn, answers *bufio.Reader, request []byte) error {
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	line, err := answers.ReadSlice('\n')
	if err != nil || len(line) < 12 {
		return fmt.Errorf("reading an answer: %w", err)
	}
	status, _ := strconv.Atoi(string(line[9:12]))
	length, chunked := 0, false
	for {
		if line, err = answers.ReadSlice('\n'); err != nil {
			return fmt.Errorf("reading an answer: %w", err)
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if len(name) == 0 {
			break
		}
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
	if err := skip(answers, length, chunked); err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	if status != 202 {
		return refused{status}
	}
	return nil
}

// skip reads past a body.
func skip(answers *bufio.Reader, length int, chunked bool) error {
	for chunked {
		line, err := answers.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if _, err := answers.Discard(int(size) + len("\r\n")); err != nil {
			return err
		}
		chunked = size > 0
	}
	_, err := answers.Discard(length)
	return err
}
