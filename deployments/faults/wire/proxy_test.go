package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// echo stands in for Cassandra: it answers every frame with itself.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func request(stream uint16, opcode byte, body ...byte) []byte {
	f := make([]byte, headerSize, headerSize+len(body))
	f[0], f[4] = 4, opcode
	binary.BigEndian.PutUint16(f[2:], stream)
	binary.BigEndian.PutUint32(f[5:], uint32(len(body)))
	return append(f, body...)
}

func connect(t *testing.T) (*Proxy, net.Conn) {
	t.Helper()
	p, err := New("127.0.0.1:0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	conn, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return p, conn
}

func exchange(t *testing.T, conn net.Conn, f []byte) error {
	t.Helper()
	if _, err := conn.Write(f); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(f))
	_, err := io.ReadFull(conn, got)
	return err
}

func TestTheTriggerCountsOneKindOfOneFlush(t *testing.T) {
	p, conn := connect(t)
	send := func(opcode byte, body ...byte) {
		t.Helper()
		if err := exchange(t, conn, request(7, opcode, body...)); err != nil {
			t.Fatal(err)
		}
	}
	send(opBatch, byte(Counters))
	unanswered := -1
	done := p.During(Counters, 2, func(n int) { unanswered = n })
	fired := func() bool {
		select {
		case <-done:
			return true
		case <-time.After(20 * time.Millisecond):
			return false
		}
	}
	send(opBatch, byte(Counters)) // still the flush that was under way
	send(opBatch, byte(Counters))
	if fired() {
		t.Fatal("a flush counted from its middle")
	}
	time.Sleep(pause + 50*time.Millisecond)
	send(opBatch, byte(Counters))
	send(opBatch, byte(Visitors), 1)
	send(0x0a, byte(Counters)) // EXECUTE
	if fired() {
		t.Fatal("something else was counted")
	}
	send(opBatch, byte(Counters))
	if !fired() || unanswered < 1 {
		t.Errorf("not called, or told of %d writes without an answer", unanswered)
	}
	if p.Written() != 5 {
		t.Errorf("%d counter writes, want 5", p.Written())
	}
}

func TestAMutedProxySwallowsAnswersAndCutCloses(t *testing.T) {
	p, conn := connect(t)
	if err := exchange(t, conn, request(1, opBatch, byte(Counters))); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if !p.Quiet() {
		t.Error("an answered write is taken for one under way")
	}
	p.Mute()
	if err := exchange(t, conn, request(2, opBatch, byte(Counters))); err == nil {
		t.Error("an answer came through")
	}
	if p.Quiet() {
		t.Error("a write without an answer is taken for answered")
	}
	if p.Swallowed() != 1 {
		t.Errorf("%d answers swallowed, want 1", p.Swallowed())
	}
	p.Cut()
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
}
