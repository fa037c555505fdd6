package cql

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// pair makes a TCP connection and returns both ends.
func pair(t *testing.T) (near *net.TCPConn, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = far.Close()
	})
	return conn.(*net.TCPConn), far
}

func TestConnectionClosesWhenTheNodeIsSilent(t *testing.T) {
	const tick = 30 * time.Millisecond
	near, far := pair(t)
	w := watch(near, tick)
	one := make([]byte, 1)
	// The connection stays open while something comes now and then, for far longer than a silence may last.
	for range 2 * silentTicks {
		time.Sleep(tick)
		if _, err := far.Write(one); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Read(one); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	_, err := w.Read(one)
	if !errors.Is(err, errSilent) {
		t.Errorf("reading from a silent node: %v, want %v", err, errSilent)
	}
	var network *net.OpError
	if !errors.As(err, &network) { // the store tells a lost connection by this type
		t.Errorf("%T is no error of a connection", err)
	}
	if took := time.Since(begun); took < (silentTicks-1)*tick {
		t.Errorf("the connection was closed after %s", took)
	}
	if _, err := far.Read(one); !errors.Is(err, io.EOF) {
		t.Errorf("the far end reads %v, want the end", err)
	}
}

func TestClosedConnectionIsNotReportedAsSilent(t *testing.T) {
	near, far := pair(t)
	w := watch(near, time.Hour)
	_ = far.Close()
	if _, err := w.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("reading from a node that closed the connection: %v", err)
	}
	for range 2 { // the driver may close twice
		_ = w.Close()
	}
}
