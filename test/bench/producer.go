package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/models"
	"footfall/test/bench/workload"
)

const (
	singleConnections = 64
	batchConnections  = 4 // as many events as the producer takes at once by default
	batchEvents       = 1000
)

// measureBare is a handler that reads its request and answers 202: no producer can be faster. It runs until it is told to stop.
func measureBare(ctx context.Context, _ task) (m measured, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return m, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(os.Stderr, `"listening","addr":"%s"`+"\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return m, err
	}
	return m, nil
}

// measureWriter writes batches of events to Kafka and does nothing else.
func measureWriter(ctx context.Context, t task) (m measured, err error) {
	w := &kafka.Writer{
		Addr: kafka.TCP(t.Broker), Topic: t.Topic, Balancer: kafka.Murmur2Balancer{Consistent: true}, RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond,
	}
	var messages []kafka.Message
	for _, e := range workload.Clicks(20 * batchEvents) {
		messages = append(messages, kafka.Message{Key: []byte(e.KafkaKey()), Value: workload.Encode(e)})
	}
	if err := w.WriteMessages(ctx, slices.Clone(messages[:batchEvents])...); err != nil { // it connects before the clock runs, as the producer did
		return m, err
	}
	var next, written atomic.Int64
	watch := begin()
	limited, cancel := context.WithTimeout(ctx, time.Duration(t.Seconds)*time.Second)
	defer cancel()
	group, _ := errgroup.WithContext(limited)
	for range batchConnections {
		group.Go(func() error {
			for limited.Err() == nil {
				i := int(next.Add(1)) % 20 * batchEvents
				if err := w.WriteMessages(ctx, slices.Clone(messages[i:i+batchEvents])...); err != nil {
					return err
				}
				written.Add(batchEvents)
			}
			return nil
		})
	}
	err = group.Wait()
	m.Events = int(written.Load())
	watch.end(&m)
	return m, errors.Join(err, w.Close())
}

// post sends bodies over so many connections for a while, and tells how many events were accepted per second. The client is
// as simple as it gets, since it shares the processors with what it measures.
func post(ctx context.Context, address, contentType string, bodies [][]byte, each, connections, seconds int) (float64, error) {
	var next, accepted atomic.Int64
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	group, _ := errgroup.WithContext(limited)
	for range connections {
		group.Go(func() error {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			answers := bufio.NewReader(conn)
			for limited.Err() == nil {
				if err := exchange(conn, answers, contentType, bodies[int(next.Add(1))%len(bodies)]); err != nil {
					return err
				}
				accepted.Add(int64(each))
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(accepted.Load()) / time.Since(begun).Seconds(), err
}

func exchange(conn net.Conn, answers *bufio.Reader, contentType string, body []byte) error {
	head := fmt.Sprintf("POST /v1/clicks HTTP/1.1\r\nHost: producer\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", contentType, len(body))
	if _, err := conn.Write(append([]byte(head), body...)); err != nil {
		return err
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err == nil && answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("answered %s: %s", answer.Status, text)
	}
	return err
}

// requestBodies are clicks as a sender writes them, one or many to a body.
func requestBodies(n, each int) [][]byte {
	events := workload.Clicks(n * each)
	bodies := make([][]byte, n)
	for i := range bodies {
		var body bytes.Buffer
		for _, e := range events[i*each : (i+1)*each] {
			c := *e.(*models.Click)
			c.ID = "" // the producer makes one; the same body may be sent again
			body.Write(bytes.TrimSpace([]byte(strings.Replace(string(workload.Encode(&c)), `"id":"",`, "", 1))))
			body.WriteByte('\n')
		}
		bodies[i] = body.Bytes()
	}
	return bodies
}
