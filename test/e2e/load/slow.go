package load

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The part of a request in which a slow connection becomes slow.
const (
	inHeader = iota
	inBody
	inLargeBody // beyond the size limit of a single event
	inZipped    // after a hundred bytes that decompress to almost that limit
	slowKinds
)

// largeBegin is more bytes than a single event may have.
const largeBegin = 70 << 10

// Zipped is the beginning of a gzip body.
var Zipped = func() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, strings.Repeat(" ", 65_000)); err != nil {
		panic(err) // memory takes everything
	}
	if err := z.Flush(); err != nil {
		panic(err)
	}
	return b.String()
}()

// Slow opens n connections to addr that announce a large body and send a byte a second until ctx ends. A quarter each are slow in the
// header, in the body, in the body of a large batch, and in a compressed body. A connection that the producer closes is opened again a
// second later, with another X-Forwarded-For. opened counts all connections; wait returns when all are closed.
func Slow(ctx context.Context, addr string, n int) (opened *atomic.Int64, wait func()) {
	return slow(ctx, addr, n, func(i int) int { return i % slowKinds }, anyone)
}

// SlowLarge is Slow with large batches only.
func SlowLarge(ctx context.Context, addr string, n int) (opened *atomic.Int64, wait func()) {
	return slow(ctx, addr, n, func(int) int { return inLargeBody }, anyone)
}

// SlowLargeFrom is SlowLarge with one address for all connections.
func SlowLargeFrom(ctx context.Context, addr string, n int, from string) (opened *atomic.Int64, wait func()) {
	return slow(ctx, addr, n, func(int) int { return inLargeBody }, func(int64) string { return from })
}

// anyone is a different address for each connection.
func anyone(number int64) string {
	return fmt.Sprintf("172.%d.%d.%d", 16+number>>16&15, number>>8&255, number&255)
}

func slow(ctx context.Context, addr string, n int, kind func(i int) int, from func(number int64) string) (opened *atomic.Int64, wait func()) {
	var all sync.WaitGroup
	opened = &atomic.Int64{}
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				again := time.After(time.Second) // at the earliest: a client that is refused at once would not be slow otherwise
				if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr); err == nil {
					trickle(ctx, conn, kind(i), from(opened.Add(1)))
					_ = conn.Close() // an error changes nothing
				}
				select {
				case <-again:
				case <-ctx.Done():
				}
			}
		})
	}
	return opened, all.Wait
}

// trickle sends until ctx ends or the producer answers or closes the connection.
func trickle(ctx context.Context, conn net.Conn, kind int, from string) {
	begin := "POST /v1/visits HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: " + from + "\r\n"
	switch kind {
	case inHeader:
		begin += "X-Slow: "
	case inBody:
		begin += "Content-Length: 1000000\r\n\r\n["
	case inLargeBody:
		begin += "Content-Length: 1000000\r\n\r\n[" + strings.Repeat(" ", largeBegin)
	case inZipped:
		begin += "Content-Encoding: gzip\r\nContent-Length: 1000000\r\n\r\n" + Zipped
	}
	ended := make(chan struct{})
	go func() { // any answer ends the request
		defer close(ended)
		_, _ = conn.Read(make([]byte, 1))
	}()
	_, err := io.WriteString(conn, begin)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-time.After(time.Second):
			_, err = io.WriteString(conn, " ")
		}
	}
}
