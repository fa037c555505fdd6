package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// hostileRequest is a batch of the hostile tenant.
func hostileRequest(batch string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, batch)
	_ = w.Close()
	return fmt.Sprintf("POST /v1/visits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bad\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", b.Len(), b.String())
}

// unreadAnswers are 150 connections that ask for the largest answers possible and read none. Escaped, each of these bytes becomes five.
func unreadAnswers(ctx context.Context, addr string) {
	request := hostileRequest("[" + strings.Repeat(`{"`+strings.Repeat("\x7f", 1030)+`":1},`, 999) + "0]")
	hostiles(ctx, addr, 150, func(conn net.Conn) error {
		_, err := io.WriteString(conn, request)
		return err
	})
}

// keylessConnections are as many connections as one address can get, each in the middle of a request.
func keylessConnections(ctx context.Context, addr string) {
	hostiles(ctx, addr, 1000, func(conn net.Conn) error {
		if _, err := io.WriteString(conn, "POST /v1/visits HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{"); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, conn)
		return errors.Join(err, io.EOF)
	})
}

// manyBatches are 16 connections that send valid batches as fast as they are accepted.
func manyBatches(ctx context.Context, addr string) {
	var batch strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&batch, "%c{\"siteId\":\"bad\",\"guid\":\"%d\",\"feature1\":\"a\"}", "[,"[min(i, 1)], i)
	}
	request := hostileRequest(batch.String() + "]")
	hostiles(ctx, addr, 16, func(conn net.Conn) error { return exchange(conn, request) })
}

// largeEvents are 200 connections that send single events of 64 KB, each of which takes a processor for long before it is refused.
func largeEvents(ctx context.Context, addr string) {
	body := `{"siteId":"bad","guid":"g","feature1":"` + strings.Repeat(`\u0061`, 10800) + `"}`
	request := fmt.Sprintf("POST /v1/visits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bad\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	hostiles(ctx, addr, 200, func(conn net.Conn) error { return exchange(conn, request) })
}

// inventedVisitors are 16 connections that send batches of made-up visitors.
func inventedVisitors(ctx context.Context, addr string) {
	hostiles(ctx, addr, 16, func(conn net.Conn) error {
		var batch strings.Builder
		for i, who := 0, uuid.NewString(); i < 1000; i++ {
			fmt.Fprintf(&batch, "%c{\"siteId\":\"bad\",\"guid\":\"%s-%d\",\"feature1\":\"a\"}", "[,"[min(i, 1)], who, i)
		}
		return exchange(conn, hostileRequest(batch.String()+"]"))
	})
}

// inventedReferrers are 16 connections that follow a link, each time with another made-up referrer. That needs no key.
func inventedReferrers(ctx context.Context, addr string) {
	hostiles(ctx, addr, 16, func(conn net.Conn) error {
		return exchange(conn, "GET /bad HTTP/1.1\r\nHost: x\r\nReferer: https://r"+uuid.NewString()+".example/\r\n\r\n")
	})
}

// exchange sends a request and reads the answer.
func exchange(conn net.Conn, request string) error {
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// hostiles keeps n connections from another address open and repeats the same on each of them.
func hostiles(ctx context.Context, addr string, connections int, do func(net.Conn) error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 5 * time.Second}
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				conn, err := dialer.DialContext(ctx, "tcp", addr)
				if err != nil {
					time.Sleep(100 * time.Millisecond) // the producer closed it at once
					continue
				}
				_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				for err == nil {
					err = do(conn)
				}
				stop()
				_ = conn.Close()
			}
		})
	}
	all.Wait()
}
