package intake_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/configs"
)

// refusedBatch is a thousand invalid events: 2 KB that get an answer of 70 KB.
var refusedBatch = "[" + strings.Repeat("0,", 999) + "0]"

// unreadAnswers: 40 connections ask for large answers and read none. The answers take the slots of this client only, and are cut off if
// they are not read in time. Another client's events get through. producer/hostile_test.go measures the memory.
func unreadAnswers(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.HTTP.TrustedProxies = []string{"127.0.0.1"} })
	sendUntilTaken(t, d, "before")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request := strings.Replace(post(refusedBatch, "X-Forwarded-For: 198.51.100.7"), "Connection: close\r\n", "", 1)
	var hostile sync.WaitGroup
	for range 40 {
		hostile.Go(func() { unread(ctx, d.addr, request) })
	}
	large := 0
	another := http.Header{"X-Forwarded-For": {"198.51.100.8"}}
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		if r := d.do(t, http.MethodPost, "/v1/visits", another, strings.NewReader(aVisit)); r.status != http.StatusAccepted {
			t.Errorf("another client's event = %d %s", r.status, r.raw)
		}
		if r := d.do(t, http.MethodPost, "/v1/visits", another, strings.NewReader(largeBatch)); r.status != http.StatusAccepted {
			t.Errorf("another client's large batch = %d %s", r.status, r.raw)
		}
		n, err := strconv.Atoi(d.metric(t, "footfall_producer_large_bodies"))
		must(t, err)
		large = max(large, n)
	}
	if large != 16 {
		t.Errorf("answers that nobody reads took %d places, want the 16 of one client", large)
	}
	cancel()
	hostile.Wait()
	eventually(t, "all places are free again", 20*time.Second, func() bool { return d.metric(t, "footfall_producer_large_bodies") == "0" })
}

// unread sends requests over one connection for as long as the producer takes them, and reads nothing. When it is cut off it connects
// again.
func unread(ctx context.Context, addr, request string) {
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return
		}
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		for err == nil {
			_, err = io.WriteString(conn, request)
		}
		stop()
		_ = conn.Close()
	}
}
