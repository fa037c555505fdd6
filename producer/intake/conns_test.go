package intake_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

// from is a client at a loopback address of its own.
type from string

func (f from) dial(t *testing.T, d *runningServer) net.Conn {
	t.Helper()
	conn, err := f.try(t, d)
	must(t, err)
	return conn
}

// try is dial for a connection that the producer may close at once.
func (f from) try(t *testing.T, d *runningServer) (net.Conn, error) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(string(f))}, Timeout: 5 * time.Second}
	conn, err := dialer.Dial("tcp", d.addr)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, err
}

// stalled opens connections that begin a request and do not go on.
func (f from) stalled(t *testing.T, d *runningServer, n int) (all []net.Conn) {
	t.Helper()
	for range n {
		if conn, err := f.try(t, d); err == nil {
			_, _ = io.WriteString(conn, "POST /v1/visits HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{") // it may be closed
			all = append(all, conn)
		}
	}
	return all
}

// alive counts the connections that the producer has not closed.
func alive(t *testing.T, all []net.Conn) (n int) {
	t.Helper()
	for _, conn := range all {
		must(t, conn.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			n++
		}
	}
	return n
}

// sendVisit sends an event over a connection that stays open, and returns the status.
func sendVisit(conn net.Conn) (int, error) {
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(conn, "POST /v1/visits HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(aVisit), aVisit); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// boundedConnections: one address gets its share of the connections, busy or idle, and others can still connect. Idle connections are
// closed for new ones, so that many clients behind one address are all served.
func boundedConnections(t *testing.T, b broker) {
	const most, perNetwork = 20, 5
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.HTTP.Connections, cfg.HTTP.PerNetwork = most, perNetwork })
	sendUntilTaken(t, d, "before")
	cut := func(reason string) int {
		n, err := strconv.Atoi(d.metric(t, `footfall_producer_connections_cut_total{reason="`+reason+`"}`))
		must(t, err)
		return n
	}
	// Busy.
	hostile := from("127.0.0.2").stalled(t, d, 100)
	for i := range 10 {
		if status, err := sendVisit(from("127.0.0.3").dial(t, d)); status != http.StatusAccepted {
			t.Errorf("event %d beside a client with 100 connections = %d, %v", i, status, err)
		}
	}
	if n := alive(t, hostile); n > perNetwork || n == 0 {
		t.Errorf("%d of 100 connections of one address are open, want %d", n, perNetwork)
	}
	if n := cut("network") + cut("idle"); n < 95 { // one whose request the producer has not seen yet counts as idle
		t.Errorf("%d connections were counted as cut", n)
	}
	before := cut("idle")
	// Silent.
	var silent []net.Conn
	for range 50 {
		silent = append(silent, from("127.0.0.4").dial(t, d))
	}
	eventually(t, "the new ones have taken the place of those that say nothing", 5*time.Second, func() bool { return alive(t, silent) == perNetwork })
	// Idle.
	var idle []net.Conn
	for i := range 30 {
		conn := from("127.0.0.5").dial(t, d)
		idle = append(idle, conn)
		if status, err := sendVisit(conn); status != http.StatusAccepted {
			t.Errorf("event %d of many behind one address = %d, %v", i, status, err)
		}
	}
	if n := alive(t, idle); n > perNetwork {
		t.Errorf("%d idle connections of one address", n)
	}
	if n := cut("idle") - before; n < 25+45 {
		t.Errorf("%d idle connections were counted as cut", n)
	}
	if n, err := strconv.Atoi(d.metric(t, "footfall_producer_connections")); err != nil || n > most {
		t.Errorf("%d connections, %v", n, err)
	}
}

// boundedProxies: a trusted proxy is not limited to the share of one address, since it stands for many clients. The limit of all
// connections holds.
func boundedProxies(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) {
		cfg.HTTP.Connections, cfg.HTTP.PerNetwork, cfg.HTTP.TrustedProxies = 20, 2, []string{"127.0.0.2"}
	})
	busy := from("127.0.0.2").stalled(t, d, 15)
	eventually(t, "they are there", 5*time.Second, func() bool { return strings.HasPrefix(d.metric(t, "footfall_producer_connections"), "1") })
	if n := alive(t, busy); n != 15 {
		t.Errorf("%d of 15 connections of a proxy are open", n)
	}
	more := from("127.0.0.2").stalled(t, d, 15)
	if n := alive(t, more) + alive(t, busy); n > 20 {
		t.Errorf("%d connections of 20", n)
	}
}

// unreadConnections: connections on which nobody reads are the first to go when there are too many.
func unreadConnections(t *testing.T, b broker) {
	const most = 8
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.HTTP.Connections, cfg.HTTP.PerNetwork = most, 0 })
	sendUntilTaken(t, d, "before")
	eventually(t, "another one gets through", 30*time.Second, func() bool {
		for range most { // anew, since who does not read at all is cut after two seconds anyway
			if conn, err := from("127.0.0.2").try(t, d); err == nil {
				must(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
				_, _ = io.WriteString(conn, strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", 100)) // if it was cut, another one is
			}
		}
		conn, err := from("127.0.0.3").try(t, d)
		if err != nil {
			return false
		}
		status, _ := sendVisit(conn)
		return status == http.StatusAccepted && d.metric(t, `footfall_producer_connections_cut_total{reason="unread"}`) != "0"
	})
}

// turnedAway: a request that is refused by its header is answered at once, before its body has come.
func turnedAway(t *testing.T, b broker) {
	d := startServer(t, b, guarded)
	for request, want := range map[string]string{
		"POST /v1/visits": "missing_key", "POST /track": "missing_key", "POST /nothing": "not_found", "PUT /track": "method_not_allowed",
		"GET /healthz": "ok", "GET /pixel.gif": "missing_key", "OPTIONS /track": "204 No Content",
	} {
		conn := from("127.0.0.1").dial(t, d)
		_, err := io.WriteString(conn, request+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nguid=")
		must(t, err)
		must(t, conn.SetReadDeadline(time.Now().Add(8*time.Second))) // a body may take 15
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%s without its body: %q, %v", request, answer, err)
		}
	}
}
